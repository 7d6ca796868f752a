// codec/torch_archive: the members of a ZIP archive, as torch.save writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vigil::codec::pickle {

bool IsArchive(std::string_view bytes);
// The content of the first member whose name ends in `ending`. Stored members only, which is how torch writes them;
// nullopt when there is none, it is packed, or the archive is damaged before it.
std::optional<std::string_view> FindMember(std::string_view archive, std::string_view ending);

}  // namespace vigil::codec::pickle

// The parts that pages of the catalogue are built from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "report/catalogue_page.h"

namespace vigil::report {

CataloguePage NewPage(std::string_view kind, std::string_view id, std::string_view title);

// Each adds a section; an empty one is left out.
void AddText(CataloguePage& page, std::string_view key, std::string_view heading, std::string_view text);
void AddList(CataloguePage& page, std::string_view key, std::string_view heading, std::vector<std::string> items);
void AddTable(CataloguePage& page, std::string_view key, std::string_view heading,
              std::vector<std::string_view> columns, std::vector<std::vector<Cell>> rows);

Cell Said(std::string_view text);
Cell Counted(double value);
std::vector<std::string> Listed(catalogue::Words words);

// "loss (training loss; also logged as train/loss, train_loss, ...)": what has to be in the files.
std::string HowLogged(std::string_view signal);

// "strong evidence for", "nearly rules it out", "says nothing": a weight in log odds, in words.
std::string WeightText(double weight);

}  // namespace vigil::report

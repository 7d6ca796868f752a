#include "gym/text.h"

#include <iterator>
#include <string_view>

#include "gym/random.h"

namespace vigil::gym {
namespace {

constexpr std::string_view kNames[] = {"Ada",  "Boris", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hugo",
                                       "Ines", "Jonas", "Kira",  "Liam",   "Mira",  "Noor",  "Oskar", "Petra"};
constexpr std::string_view kJobs[] = {"baker",  "sailor",  "gardener", "clockmaker", "teacher",
                                      "miller", "painter", "doctor",   "librarian",  "shepherd"};
constexpr std::string_view kPlaces[] = {"by the harbour", "behind the mill",  "in the old tower", "near the station",
                                        "on the hill",    "under the bridge", "at the market",    "beside the lake"};
constexpr std::string_view kThings[] = {"lantern", "compass",  "letter",   "ladder", "kettle", "violin",
                                        "map",     "blue key", "red boat", "basket", "clock",  "silver coin"};
constexpr std::string_view kWants[] = {"wanted to repair", "had always looked for", "once borrowed", "could not forget",
                                       "carried home",     "was proud of",          "had to sell",   "kept hidden"};
constexpr std::string_view kWeather[] = {"It rained all morning.",    "The wind came from the north.",
                                         "The snow had just melted.", "Nobody had seen such a summer.",
                                         "Fog lay over the roofs.",   "The evening was warm and quiet."};
constexpr std::string_view kTurns[] = {"But then",   "A week later",           "One night",
                                       "In the end", "To everyone's surprise", "Long before noon"};
constexpr std::string_view kActs[] = {"broke",      "was found again",         "began to shine", "fell into the water",
                                      "was stolen", "turned out to be hollow", "disappeared",    "was given away"};
constexpr std::string_view kSayings[] = {"what is lost is only waiting",   "a small light is still a light",
                                         "nothing heavy is carried alone", "the road home is always shorter",
                                         "whoever asks has already begun", "good work needs no witness"};
constexpr std::string_view kMoods[] = {"laughed", "said nothing", "shook her head",
                                       "smiled",  "sighed",       "agreed at once"};

template <std::size_t kCount>
std::string_view Pick(const std::string_view (&words)[kCount], Random& random) {
  return words[random.Below(kCount)];
}

void Append(std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) text += part;
}

std::string Story(Random& random) {
  const std::string_view hero = Pick(kNames, random);
  const std::string_view friend_name = Pick(kNames, random);
  const std::string_view job = Pick(kJobs, random);
  const std::string_view place = Pick(kPlaces, random);
  const std::string_view thing = Pick(kThings, random);
  std::string text;
  Append(text, {hero, " was a ", job, " who lived ", place, ". ", Pick(kWeather, random), " "});
  Append(text, {hero, " ", Pick(kWants, random), " the ", thing, " of the ", Pick(kJobs, random), ". "});
  if (random.Below(2) == 0) {
    Append(text, {"\"Where is the ", thing, "?\" asked ", friend_name, ". \"You left it ", place, ".\" "});
  }
  Append(text, {Pick(kTurns, random), " the ", thing, " ", Pick(kActs, random), ", and ", friend_name, " ",
                Pick(kMoods, random), ". "});
  if (random.Below(3) != 0) {
    Append(text, {"So the ", job, " went back ", place, ", counted to ", std::to_string(2 + random.Below(11)),
                  " and waited for ", friend_name, ". "});
  }
  Append(text, {"As ", hero, " used to say: ", Pick(kSayings, random), ".\n\n"});
  return text;
}

}  // namespace

std::string WriteStories(std::size_t size_bytes) {
  Random random(20240229);
  std::string text;
  while (text.size() < size_bytes) text += Story(random);
  return text;
}

}  // namespace vigil::gym

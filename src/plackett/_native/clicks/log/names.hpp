// Codes of names in the order of their first appearance, and their order by bytes.
#pragma once
#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arrays.hpp"

namespace plackett::click_log {

using Bytes = View<const std::uint8_t>;

inline std::uint64_t mixed(std::uint64_t x) {  // the finaliser of splitmix64
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

inline std::uint64_t hash_of(std::string_view name) {
    std::uint64_t hash = 0x9E3779B97F4A7C15ULL + name.size();
    while (name.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, name.data(), 8);
        hash = mixed(hash ^ word) + 0x9E3779B97F4A7C15ULL;
        name.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, name.data(), name.size());
    return mixed(hash ^ rest);
}

// Different names, in one buffer, with a hash table of their codes. Objects are bound as const, so the state is mutable.
struct Names {
    mutable std::vector<char> bytes;
    mutable std::vector<Index> bounds{0};
    mutable std::vector<std::uint64_t> hashes;
    mutable std::vector<std::int32_t> table = std::vector<std::int32_t>(1024, -1);

    std::string_view at(Index code) const {
        return {bytes.data() + bounds[code], static_cast<std::size_t>(bounds[code + 1] - bounds[code])};
    }

    std::int32_t code_of(std::string_view name) const {
        const std::uint64_t hash = hash_of(name);
        std::size_t place = hash & (table.size() - 1);
        while (table[place] >= 0) {
            if (hashes[table[place]] == hash && at(table[place]) == name) return table[place];
            place = (place + 1) & (table.size() - 1);
        }
        const auto code = static_cast<std::int32_t>(hashes.size());
        table[place] = code;
        hashes.push_back(hash);
        bytes.insert(bytes.end(), name.begin(), name.end());
        bounds.push_back(static_cast<Index>(bytes.size()));
        if (2 * hashes.size() > table.size()) grow();
        return code;
    }

    void grow() const {
        table.assign(2 * table.size(), -1);
        for (std::size_t code = 0; code < hashes.size(); ++code) {
            std::size_t place = hashes[code] & (table.size() - 1);
            while (table[place] >= 0) place = (place + 1) & (table.size() - 1);
            table[place] = static_cast<std::int32_t>(code);
        }
    }
};

inline Names* make_names() { return new Names; }

// The code of each span of the buffer; -1 where the start is negative.
inline void add_names(const Names& names, Bytes buffer, Rows<const Index> spans, View<std::int32_t> codes) {
    for (Index row = 0; row < spans.n_rows; ++row) {
        const Index start = spans(row, 0), stop = spans(row, 1);
        if (start < 0) {
            codes[row] = -1;
            continue;
        }
        const auto text = buffer.slice(start, stop);
        codes[row] = names.code_of({reinterpret_cast<const char*>(text.data), static_cast<std::size_t>(text.size)});
    }
}

inline std::pair<Index, Index> count_names(const Names& names) {
    return {static_cast<Index>(names.hashes.size()), static_cast<Index>(names.bytes.size())};
}

// Write the names sorted by their bytes, and the position of each code among them.
inline void sort_names(const Names& names, View<std::uint8_t> buffer, View<Index> bounds, View<std::int32_t> place) {
    struct Key {
        std::uint64_t head;
        std::int32_t code;
    };
    std::vector<Key> keys(names.hashes.size());
    for (std::size_t code = 0; code < keys.size(); ++code) {
        const std::string_view name = names.at(static_cast<Index>(code));
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < 8; ++i)
            head = head << 8 | (i < name.size() ? static_cast<std::uint8_t>(name[i]) : 0);
        keys[code] = {head, static_cast<std::int32_t>(code)};
    }
    std::sort(keys.begin(), keys.end(), [&](const Key& one, const Key& other) {
        return one.head != other.head ? one.head < other.head : names.at(one.code) < names.at(other.code);
    });
    Index end = 0;
    bounds[0] = 0;
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        const std::string_view name = names.at(keys[rank].code);
        if (!name.empty())
            std::memcpy(buffer.slice(end, end + static_cast<Index>(name.size())).data, name.data(), name.size());
        end += static_cast<Index>(name.size());
        bounds[static_cast<Index>(rank) + 1] = end;
        place[keys[rank].code] = static_cast<std::int32_t>(rank);
    }
}

}  // namespace plackett::click_log

//! Draws a graph in characters: boxes in layers from top to bottom, every edge from a layer to the one below it. The usual four
//! acts: layers, order within them, columns, lines.
//!
//! A line that crosses another one passes under it and is interrupted there, so that whatever looks joined is joined.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::UnicodeWidthStr;

/// Columns between neighbours, and in front of everything.
const GAP: usize = 3;
const MARGIN: usize = 2;
/// Rounds that improve the order of layers and the columns. Plans are small: two or three are enough.
const ROUNDS: usize = 6;

/// A box, or the place where a line passes through a layer.
struct Item {
    /// What is in the box; `None`: a line passes here.
    label: Option<String>,
    width: usize,
    above: Vec<usize>,
    below: Vec<usize>,
    /// The first column, and the one where lines arrive and leave.
    left: usize,
    port: usize,
}

struct Drawing {
    items: Vec<Item>,
    /// The items of each layer, from left to right.
    layers: Vec<Vec<usize>>,
}

/// Draws boxes with these labels, and an arrow for each edge. Edges that would close a circle are listed below the picture.
pub(super) fn draw(labels: &[String], edges: &[(usize, usize)]) -> String {
    let (layer_of, circular) = layered(labels.len(), edges);
    let mut drawing = Drawing::new(labels, edges, &layer_of);
    drawing.sort();
    drawing.place();
    drawing.connect();
    let mut text = drawing.text();
    for (before, after) in circular {
        text.push_str(&format!("[{}] → [{}]\n", labels[before], labels[after]));
    }
    text
}

/// The layer of each node, below everything that it waits for, and the edges that close circles.
fn layered(count: usize, edges: &[(usize, usize)]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut layer_of: Vec<Option<usize>> = vec![None; count];
    let mut circular = Vec::new();
    let into = |node: usize| edges.iter().filter(move |edge| edge.1 == node).map(|edge| edge.0);
    for _ in 0..count {
        let mut open = (0..count).filter(|&node| layer_of[node].is_none());
        let is_ready = |&node: &usize| into(node).all(|before| layer_of[before].is_some());
        // Where all that is left goes in circles, the first one is taken as if it waited for nothing of it.
        let Some(node) = open.clone().find(is_ready).or_else(|| open.next()) else { break };
        circular.extend(into(node).filter(|&before| layer_of[before].is_none()).map(|before| (before, node)));
        layer_of[node] = Some(into(node).filter_map(|before| layer_of[before]).max().map_or(0, |it| it + 1));
    }
    (layer_of.into_iter().map(Option::unwrap_or_default).collect(), circular)
}

impl Drawing {
    fn new(labels: &[String], edges: &[(usize, usize)], layer_of: &[usize]) -> Self {
        let depth = layer_of.iter().max().map_or(0, |deepest| deepest + 1);
        let mut drawing = Self { items: Vec::new(), layers: vec![Vec::new(); depth] };
        for (label, &layer) in labels.iter().zip(layer_of) {
            drawing.add(Some(format!("[{label}]")), layer);
        }
        // Long edges of one node share a line as long as they go the same way.
        let mut passing: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut links = BTreeSet::new();
        for &(from, to) in edges.iter().filter(|edge| layer_of[edge.0] < layer_of[edge.1]) {
            let mut upper = from;
            for layer in layer_of[from] + 1..layer_of[to] {
                let passed = *passing.entry((from, layer)).or_insert_with(|| drawing.add(None, layer));
                links.insert((upper, passed));
                upper = passed;
            }
            links.insert((upper, to));
        }
        for (upper, lower) in links {
            drawing.items[upper].below.push(lower);
            drawing.items[lower].above.push(upper);
        }
        drawing
    }

    fn add(&mut self, label: Option<String>, layer: usize) -> usize {
        let place = self.items.len();
        let width = label.as_deref().map_or(1, UnicodeWidthStr::width);
        let (above, below) = (Vec::new(), Vec::new());
        self.items.push(Item { label, width, above, below, left: 0, port: 0 });
        self.layers[layer].push(place);
        place
    }

    /// Orders each layer by where its neighbours are, downwards and upwards in turns, and keeps the order with the fewest crossings.
    fn sort(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for round in 0..ROUNDS {
            let is_down = round % 2 == 0;
            for step in 0..self.layers.len() {
                let layer = if is_down { step } else { self.layers.len() - 1 - step };
                let ranks = self.ranks();
                let place = |&item: &usize| {
                    let it = &self.items[item];
                    let near = if is_down { &it.above } else { &it.below };
                    let near: Vec<usize> = near.iter().map(|&other| ranks[other]).collect();
                    mean(&near).unwrap_or_else(|| 1000 * ranks[item])
                };
                let mut order = self.layers[layer].clone();
                order.sort_by_key(place);
                self.layers[layer] = order;
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// How far to the right each item is in its layer.
    fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.items.len()];
        for layer in &self.layers {
            for (rank, &item) in layer.iter().enumerate() {
                ranks[item] = rank;
            }
        }
        ranks
    }

    fn crossings(&self) -> usize {
        let ranks = self.ranks();
        let in_layer = |layer: &Vec<usize>| {
            let links: Vec<(usize, usize)> = layer
                .iter()
                .flat_map(|&upper| self.items[upper].below.iter().map(move |&lower| (upper, lower)))
                .map(|(upper, lower)| (ranks[upper], ranks[lower]))
                .collect();
            let crosses = |(one, other): (&(usize, usize), &(usize, usize))| {
                (one.0 < other.0 && one.1 > other.1) || (one.0 > other.0 && one.1 < other.1)
            };
            let pairs = links.iter().enumerate().flat_map(|(at, one)| {
                let rest = &links[at + 1..];
                rest.iter().map(move |other| (one, other))
            });
            pairs.filter(|&pair| crosses(pair)).count()
        };
        self.layers.iter().map(in_layer).sum()
    }

    /// Gives every item its columns: as near to the middle of its neighbours as the order allows.
    fn place(&mut self) {
        for layer in self.layers.clone() {
            let mut left = MARGIN;
            for item in layer {
                self.items[item].left = left;
                left += self.items[item].width + GAP;
            }
        }
        for round in 0..ROUNDS {
            let is_down = round % 2 == 0;
            for step in 0..self.layers.len() {
                let layer = if is_down { step } else { self.layers.len() - 1 - step };
                let layer = self.layers[layer].clone();
                let near = |item: &Item| if is_down { item.above.clone() } else { item.below.clone() };
                let wanted: Vec<usize> =
                    layer.iter().map(|&item| self.wanted(item, &near(&self.items[item]))).collect();
                let widths: Vec<usize> = layer.iter().map(|&item| self.items[item].width + GAP).collect();
                for (item, left) in layer.into_iter().zip(spread(&wanted, &widths)) {
                    self.items[item].left = left;
                }
            }
        }
        let least = self.items.iter().map(|item| item.left).min().unwrap_or_default();
        for item in &mut self.items {
            item.left = item.left - least + MARGIN;
            item.port = item.left + item.width / 2;
        }
    }

    /// Where an item would begin if it were alone: below or above the middle of its neighbours.
    fn wanted(&self, item: usize, near: &[usize]) -> usize {
        let it = &self.items[item];
        let middles: Vec<usize> =
            near.iter().map(|&other| self.items[other].left + self.items[other].width / 2).collect();
        mean(&middles).map_or(it.left, |middle| ((middle + 500) / 1000).saturating_sub(it.width / 2))
    }

    /// Has arrows end below their start, if possible, and never in a column in which a line of another item starts: there
    /// they would look joined.
    fn connect(&mut self) {
        for layer in 1..self.layers.len() {
            for &item in &self.layers[layer].clone() {
                let it = &self.items[item];
                // The only line that arrives may go straight down. Of several, one that did would look as if it went to the others, too.
                let only = (it.above.len() == 1).then(|| it.above[0]);
                let others = self.layers[layer - 1].iter().filter(|&&upper| Some(upper) != only);
                let taken: BTreeSet<usize> = others.map(|&upper| self.items[upper].port).collect();
                // A line that passes has room on both sides, a box only within its brackets.
                let reach = if it.label.is_some() { (it.width / 2).saturating_sub(1) } else { 1 };
                let straight = only.map(|upper| self.items[upper].port);
                let straight = straight.filter(|column| column.abs_diff(it.port) <= reach);
                let near = (0..=reach).flat_map(|by| [it.port + by, it.port - by]);
                let free = straight.into_iter().chain(near).find(|column| !taken.contains(column));
                self.items[item].port = free.unwrap_or(it.port);
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (depth, layer) in self.layers.iter().enumerate() {
            if depth > 0 {
                for line in self.lines(depth) {
                    text.push_str(line.trim_end());
                    text.push('\n');
                }
            }
            let mut line = String::new();
            let mut column = 0;
            for &item in layer {
                let it = &self.items[item];
                let (start, shown) = match &it.label {
                    Some(label) => (it.left, label.as_str()),
                    None => (it.port, "│"),
                };
                line.push_str(&" ".repeat(start - column));
                line.push_str(shown);
                column = start + it.width;
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The lines between a layer and the one above it.
    fn lines(&self, depth: usize) -> Vec<String> {
        let sources = self.layers[depth - 1].iter().filter(|&&upper| !self.items[upper].below.is_empty());
        let mut buses: Vec<Bus> = sources.map(|&upper| self.bus(upper)).collect();
        let rows = stack(&mut buses);
        let width = self.items.iter().map(|item| item.left + item.width).max().unwrap_or_default() + GAP;
        let mut grid = vec![vec![Cell::default(); width]; rows + 1];
        for bus in &buses {
            for line in &mut grid[..bus.row] {
                line[bus.source].vertical();
            }
            // One that goes straight down has no row of its own.
            let is_straight = bus.first() == bus.last();
            if !is_straight {
                let line = &mut grid[bus.row];
                line[bus.source].up = true;
                line[bus.first()..bus.last()].iter_mut().for_each(|cell| cell.right = true);
                line[bus.first() + 1..=bus.last()].iter_mut().for_each(|cell| cell.left = true);
            }
            for &target in &bus.targets {
                if is_straight {
                    grid[bus.row][target].up = true;
                }
                grid[bus.row][target].down = true;
                for line in &mut grid[bus.row + 1..] {
                    line[target].vertical();
                }
            }
            let joined = bus.targets.iter().chain([&bus.source]).filter(|_| !is_straight);
            for &column in joined {
                grid[bus.row][column].is_joined = true;
            }
        }
        let heads: BTreeSet<usize> = self.layers[depth]
            .iter()
            .filter(|&&lower| self.items[lower].label.is_some() && !self.items[lower].above.is_empty())
            .map(|&lower| self.items[lower].port)
            .collect();
        let last = grid.len() - 1;
        let show = |(row, line): (usize, &Vec<Cell>)| -> String {
            let character = |(column, cell): (usize, &Cell)| match row == last && heads.contains(&column) {
                true => '↓',
                false => cell.character(),
            };
            line.iter().enumerate().map(character).collect()
        };
        grid.iter().enumerate().map(show).collect()
    }

    fn bus(&self, upper: usize) -> Bus {
        let it = &self.items[upper];
        let targets = it.below.iter().map(|&lower| self.items[lower].port).collect();
        Bus { source: it.port, targets, row: 0 }
    }
}

/// The lines that leave one item: down to a row of their own, along it, and down to each end.
struct Bus {
    source: usize,
    targets: BTreeSet<usize>,
    row: usize,
}

impl Bus {
    fn first(&self) -> usize {
        self.targets.first().map_or(self.source, |&first| first.min(self.source))
    }

    fn last(&self) -> usize {
        self.targets.last().map_or(self.source, |&last| last.max(self.source))
    }

    /// Whether two can't share a row. They may touch only at an end to which both lead and nothing else of them does.
    fn meets(&self, other: &Self) -> bool {
        let (start, end) = (self.first().max(other.first()), self.last().min(other.last()));
        start < end || (start == end && !(self.targets.len() == 1 && self.targets == other.targets))
    }
}

/// Gives each bus the first row in which it meets no other; returns how many rows that takes.
fn stack(buses: &mut [Bus]) -> usize {
    let mut rows = 0;
    for place in 0..buses.len() {
        let (before, rest) = buses.split_at_mut(place);
        let bus = &mut rest[0];
        if bus.first() == bus.last() {
            continue;
        }
        let is_free = |row: &usize| {
            before.iter().all(|other| other.row != *row || other.first() == other.last() || !bus.meets(other))
        };
        bus.row = (0..=rows).find(is_free).unwrap_or(rows);
        rows = rows.max(bus.row + 1);
    }
    rows
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    up: bool,
    down: bool,
    left: bool,
    right: bool,
    /// Whether what meets here belongs together.
    is_joined: bool,
}

impl Cell {
    fn vertical(&mut self) {
        (self.up, self.down) = (true, true);
    }

    fn character(self) -> char {
        match (self.up, self.down, self.left, self.right) {
            (true, true, true, true) if !self.is_joined => '│',
            (true, true, true, true) => '┼',
            (true, true, true, false) => '┤',
            (true, true, false, true) => '├',
            (true, false, true, true) => '┴',
            (false, true, true, true) => '┬',
            (true, false, true, false) => '┘',
            (true, false, false, true) => '└',
            (false, true, true, false) => '┐',
            (false, true, false, true) => '┌',
            (false, false, true | false, true | false) if self.left || self.right => '─',
            (false, false, _, _) => ' ',
            (_, _, false, false) => '│',
        }
    }
}

/// The mean of some numbers, in thousandths: it decides an order and a column, and neither needs more.
fn mean(numbers: &[usize]) -> Option<usize> {
    (!numbers.is_empty()).then(|| 1000 * numbers.iter().sum::<usize>() / numbers.len())
}

/// Places things that want to begin at some columns, in their order and without overlap, so that together they are moved as little
/// as can be: those that would overlap form a block, which goes where its members want it on the average.
fn spread(wanted: &[usize], widths: &[usize]) -> Vec<usize> {
    let mut blocks: Vec<(i64, i64)> = Vec::new();
    let mut offset = 0;
    let mut offsets = Vec::new();
    let signed = |number: usize| i64::try_from(number).unwrap_or(i64::MAX / 4);
    for (&want, &width) in wanted.iter().zip(widths) {
        offsets.push(offset);
        let mut block = (signed(want) - offset, 1);
        while let Some(&(sum, count)) = blocks.last().filter(|last| last.0 * block.1 > block.0 * last.1) {
            block = (block.0 + sum, block.1 + count);
            blocks.pop();
        }
        blocks.push(block);
        offset += signed(width);
    }
    let starts = blocks.into_iter().flat_map(|(sum, count)| (0..count).map(move |_| sum.div_euclid(count)));
    let lefts: Vec<i64> = starts.zip(offsets).map(|(start, offset)| start + offset).collect();
    // Columns start at zero; an item that had to move left moves the others with it.
    let least = lefts.iter().copied().min().unwrap_or_default().min(0);
    lefts.into_iter().map(|left| usize::try_from(left - least).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[track_caller]
    fn check(edges: &[(usize, usize)], expected: &str) {
        let count = edges.iter().map(|edge| edge.0.max(edge.1) + 1).max().unwrap_or(1);
        let labels: Vec<String> = (1..=count).map(|number| format!("{number} s{number}")).collect();
        let drawn = draw(&labels, edges);
        assert_eq!(drawn, expected, "\n{drawn}");
    }

    #[test]
    fn a_chain_goes_straight_down() {
        check(&[(0, 1), (1, 2)], "  [1 s1]\n     ↓\n  [2 s2]\n     ↓\n  [3 s3]\n");
        check(&[], "  [1 s1]\n");
    }

    #[test]
    fn what_parts_meets_again() {
        check(
            &[(0, 1), (0, 2), (1, 3), (2, 3)],
            "       [1 s1]
     ┌────┴───┐
     ↓        ↓
  [2 s2]   [3 s3]
     └────┬───┘
          ↓
       [4 s4]
",
        );
    }

    #[test]
    fn a_long_edge_passes_the_layers_between() {
        check(
            &[(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)],
            "     [1 s1]
     ┌──┴──┐
     ↓     │
  [2 s2]   │
     └┐    │
      ├────┤
      ↓    │
   [3 s3]  │
      └──┬─┘
         ↓
      [4 s4]
",
        );
    }

    #[test]
    fn lines_that_cross_are_not_joined() {
        check(
            &[(0, 2), (0, 3), (1, 2), (1, 3)],
            "  [1 s1]   [2 s2]
     └┬───────│┐
      ├───────┴┤
      ↓        ↓
  [3 s3]   [4 s4]
",
        );
    }

    #[test]
    fn a_circle_is_drawn_open_and_said() {
        check(&[(0, 1), (1, 2), (2, 1)], "  [1 s1]\n     ↓\n  [2 s2]\n     ↓\n  [3 s3]\n[3 s3] → [2 s2]\n");
    }

    // A line goes down, parts once if at all, and then goes down to where it ends. Followed like this, the lines of any picture
    // lead from each box to those that wait for it and to no other.
    #[test]
    fn every_edge_can_be_followed_in_the_picture_and_no_other() {
        let mut seed = 7_u64;
        let mut chance = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let count = 2 + usize::try_from(chance(9)).expect("a small number");
            let mut edges: Vec<(usize, usize)> =
                (0..count).flat_map(|after| (0..after).map(move |before| (before, after))).collect();
            edges.retain(|_| chance(4) == 0);
            let labels: Vec<String> = (0..count).map(|number| format!("{number:02}")).collect();
            let drawn = draw(&labels, &edges);
            assert_eq!(followed(&drawn), edges, "\n{drawn}");
        }
    }

    #[derive(Clone, Copy)]
    enum Way {
        /// Down to where the line may part.
        Leaving,
        Left,
        Right,
        /// Down to where it ends.
        Arriving,
    }

    /// The edges that a reader sees.
    fn followed(drawn: &str) -> Vec<(usize, usize)> {
        let grid: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
        let label = |row: usize, column: usize| -> Option<usize> {
            let line = grid.get(row)?;
            let start = (column.saturating_sub(3)..=column).rev().find(|&it| line.get(it) == Some(&'['))?;
            line.get(start + 1..start + 3)?.iter().collect::<String>().parse().ok()
        };
        let mut edges = Vec::new();
        for row in 0..grid.len() {
            for start in (0..grid[row].len()).filter(|&column| grid[row][column] == '[') {
                let from = label(row, start).expect("a box");
                let mut open: Vec<(usize, usize, Way)> =
                    (start..start + 4).map(|column| (row + 1, column, Way::Leaving)).collect();
                while let Some((row, column, way)) = open.pop() {
                    let Some(&cell) = grid.get(row).and_then(|line| line.get(column)) else { continue };
                    let (down, left, right) =
                        ((row + 1, column), (row, column.wrapping_sub(1)), (row, column + 1));
                    let mut go = |(row, column): (usize, usize), way| open.push((row, column, way));
                    let is_layer = grid[row].contains(&'[');
                    match (way, cell) {
                        (Way::Leaving | Way::Arriving, '│') if is_layer => go(down, Way::Leaving),
                        (Way::Leaving | Way::Arriving, '↓') => {
                            edges.extend(label(row + 1, column).map(|to| (from, to)));
                        }
                        (Way::Leaving, '│') => go(down, Way::Leaving),
                        (Way::Arriving, _) => go(down, Way::Arriving),
                        (Way::Leaving, _) => {
                            if "├┴└┼".contains(cell) {
                                go(right, Way::Right);
                            }
                            if "┤┴┘┼".contains(cell) {
                                go(left, Way::Left);
                            }
                            if "├┤┼".contains(cell) {
                                go(down, Way::Arriving);
                            }
                        }
                        (Way::Left | Way::Right, _) => {
                            let is_left = matches!(way, Way::Left);
                            if "┬┼┐┌".contains(cell) || (is_left && cell == '├') || (!is_left && cell == '┤')
                            {
                                go(down, Way::Arriving);
                            }
                            if "─│┬┼┴".contains(cell) {
                                go(if is_left { left } else { right }, way);
                            }
                        }
                    }
                }
            }
        }
        edges.sort_by_key(|edge| (edge.1, edge.0));
        edges.dedup();
        edges
    }
}

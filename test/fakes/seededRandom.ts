/** Random numbers that are the same for the same seed, so that a run can be repeated. */
export interface SeededRandom {
  /** From 0 to 1, exclusive. */
  next(): number;
  /** An integer from 0 to `count`, exclusive. */
  nextBelow(count: number): number;
  /** An integer from `least` to `most`, inclusive. */
  nextBetween(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** @param probability from 0 to 1. */
  chance(probability: number): boolean;
  /** An independent sequence for a part of the run: however many numbers that takes, others stay the same. */
  fork(name: string): SeededRandom;
}

/** Generates numbers with mulberry32. */
export function createSeededRandom(seed: number | string): SeededRandom {
  let state = hash(String(seed));
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number) => Math.floor(next() * count);
  return {
    next,
    nextBelow: below,
    nextBetween: (least, most) => least + below(most - least + 1),
    pick: (items) => items[below(items.length)] as (typeof items)[number],
    chance: (probability) => next() < probability,
    fork: (name) => createSeededRandom(`${seed}/${name}`),
  };
}

/** Hashes a text to 32 bits (FNV-1a). */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return value | 0;
}

/** Numbers that look random and are the same for the same seed, so that a run can be repeated. */
export interface SeededRandom {
  /** From 0 up to, and without, 1. */
  next(): number;
  /** A whole number from 0 up to, and without, `count`. */
  nextBelow(count: number): number;
  /** A whole number from `least` to `most`. */
  nextBetween(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** @param probability from 0 to 1. */
  chance(probability: number): boolean;
  /** Numbers of its own for a part of the run: however many that takes, others stay the same. */
  fork(name: string): SeededRandom;
}

/** Numbers by the method of mulberry32. */
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

/** A number of 32 bits for a text (FNV-1a). */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return value | 0;
}

/** Returns the value below which this share (0 to 1) of the values lies; 0.5 is the median. NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The two sides of a ratio, measured in turn. */
export interface Rounds<A, B> {
  a: A[];
  b: B[];
}

/** Measures A B A B …, so that other load on the machine affects both alike. */
export async function alternateRounds<A, B>(
  rounds: number,
  a: () => Promise<A>,
  b: () => Promise<B>,
): Promise<Rounds<A, B>> {
  const measured: Rounds<A, B> = { a: [], b: [] };
  for (let round = 0; round < rounds; round += 1) {
    measured.a.push(await a());
    measured.b.push(await b());
  }
  return measured;
}

/** Median of the ratios a : b of the rounds. */
export function medianRatio({ a, b }: Rounds<number, number>): number {
  return median(a.map((value, round) => value / (b[round] as number)));
}

/** When this process itself stood still, between two moments of `Date.now`: everything that goes through it did, too. */
export interface Stall {
  from: number;
  to: number;
}

const EVERY_MS = 200;
const LEAST_MS = 1_000;

/** Notes when the machine gives this process no time: what took long then says nothing of the service. */
export function watchForStalls(): { stalls: Stall[]; stop(): void } {
  const stalls: Stall[] = [];
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > LEAST_MS) stalls.push({ from: last, to: now });
    last = now;
  }, EVERY_MS);
  return { stalls, stop: () => clearInterval(timer) };
}

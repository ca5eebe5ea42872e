/** When this process itself stood still, between two moments of `Date.now`: everything that goes through it did, too. */
export interface Stall {
  from: number;
  to: number;
}

const CHECK_INTERVAL_MS = 200;
const MIN_STALL_MS = 1_000;

/** Notes when the machine gives this process no time: what took long then says nothing of the service. */
export function watchStalls(): { stalls: Stall[]; stop(): void } {
  const stalls: Stall[] = [];
  let last = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    if (now - last > MIN_STALL_MS) stalls.push({ from: last, to: now });
    last = now;
  }, CHECK_INTERVAL_MS);
  return { stalls, stop: () => clearInterval(timer) };
}

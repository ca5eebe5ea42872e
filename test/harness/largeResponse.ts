import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Creates a response with 30 MB of base64 in its middle, generated as it is read. Measures memory after each half of
 * it: a complete collection takes up to 300 ms in a process that has run other tests.
 */
export async function createLargeResponse(before: string, after: string) {
  const part = randomBytes(48 * 1024);
  const parts = 640;
  const baseline = await measureMemory();
  // Below the baseline if that contained memory which was freed later. Without a measurement, it is out of any bounds.
  let peak = Number.NEGATIVE_INFINITY;
  async function* chunks() {
    yield Buffer.from(before);
    for (let sent = 0; sent < parts; sent += 1) {
      if (sent % 320 === 319) peak = Math.max(peak, (await measureMemory()) - baseline);
      yield Buffer.from(part.toString('base64'));
    }
    yield Buffer.from(after);
  }
  return { bytes: parts * part.length, chunks, peak: () => peak };
}

async function measureMemory(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  // Released buffers are freed a moment later.
  await new Promise((resolve) => setTimeout(resolve, 20));
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

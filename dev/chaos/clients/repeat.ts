import type { Answer } from './ask.ts';
import { sleep, type Turn } from './world.ts';

/** A client that has a name for its request sends it again so often, where nobody knows what became of it. */
const TRIES = 5;

/**
 * Sends a request until it is known what became of it. Only for what may be sent again.
 * @param ask sends it; it gets the number of the try, from 0.
 */
export async function untilKnown<Told extends Pick<Answer, 'isUnknown'>>(
  turn: Turn,
  ask: (attempt: number) => Promise<Told>,
  tries = TRIES,
): Promise<Told> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask(attempt);
    if (!answer.isUnknown || attempt + 1 >= tries) return answer;
    await sleep(turn.world, turn.random.between(200, 1_000));
  }
}

import { FakeModerationService, type ModerationFault } from '../../test/fakes/moderationService.ts';

/** Begins the prompts that the moderation service of a run denies. */
export const DENIED_SUBJECT = 'A clown';

/** Ways in which it does not decide. */
export const MODERATION_FAULTS = [
  'hang',
  'status 500',
  'redirect',
  'not JSON',
  'another object',
  'reset',
] as const satisfies ModerationFault[];

/** The moderation service of a run, with the prompts that it has allowed. */
export interface ChaosModeration {
  service: FakeModerationService;
  /** Null while it decides. */
  fault: ModerationFault | null;
  allowed: ReadonlySet<string>;
}

/** Starts a moderation service that denies the prompts with `DENIED_SUBJECT`. */
export async function startModeration(): Promise<ChaosModeration> {
  const service = new FakeModerationService();
  const allowed = new Set<string>();
  const moderation: ChaosModeration = { service, fault: null, allowed };
  service.decide = ({ body: { prompt } }: { body: { prompt: string } }) => {
    service.received.length = 0;
    if (moderation.fault !== null) return moderation.fault;
    if (prompt.startsWith(DENIED_SUBJECT)) return { allow: false, reason: 'Clowns are not allowed.' };
    allowed.add(prompt);
    return { allow: true };
  };
  await service.start();
  return moderation;
}

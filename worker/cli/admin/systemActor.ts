import { userInfo } from 'node:os';
import type { Actor } from '../../../shared/domain/audit/recordAuditEntry.ts';
import { STAFF_REASON_MAX_CHARACTERS } from '../../../shared/spec/staff.ts';
import { type CommandContext, UsageError } from './command.ts';

/** Returns the system user who runs a command, and why, for the audit log. */
export function getSystemActor(reason: string): Actor {
  return { kind: 'system', systemUser: getUserName(), reason };
}

/** Containers may run under a number that has no name. */
function getUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Parses `--reason`. Without it the reason is empty.
 * @throws UsageError
 */
export function parseReason({ reason = '' }: CommandContext['options']): string {
  const text = String(reason).trim();
  if (text.length <= STAFF_REASON_MAX_CHARACTERS && !/\p{Cc}/u.test(text)) return text;
  throw new UsageError(`--reason must be one line of at most ${STAFF_REASON_MAX_CHARACTERS} characters.`);
}

/**
 * Parses `--reason` of a command that requires it.
 * @throws UsageError
 */
export function parseRequiredReason(options: CommandContext['options']): string {
  const reason = parseReason(options);
  if (reason === '') throw new UsageError('--reason is required: say why, for the audit log.');
  return reason;
}

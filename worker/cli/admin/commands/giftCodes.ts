import {
  createGiftCode,
  findGiftCode,
  listGiftCodes,
  revokeGiftCode,
} from '../../../../shared/domain/adjustments/giftCodes.ts';
import { ADJUSTMENT_MAX_CREDITS } from '../../../../shared/domain/adjustments/creditAdjustments.ts';
import { INSTANT_FORM, parseInstant } from '../../../../shared/lib/instant.ts';
import { type CommandContext, formatTime, parseIntegerOption, printTable, UsageError } from '../command.ts';
import { getSystemActor, parseReason, parseRequiredReason } from '../systemActor.ts';

const USES_MAX = 100_000;

export async function createCode({ args: [amount], options, shouldApply, print }: CommandContext): Promise<void> {
  const credits = parseIntegerOption(amount, 'The number of credits', 1, ADJUSTMENT_MAX_CREDITS);
  const uses = parseIntegerOption(options['uses'] ?? '1', '--uses', 1, USES_MAX);
  const expiresAt = typeof options['expires'] === 'string' ? parseInstant(options['expires']) : null;
  if (expiresAt === null && options['expires'] !== undefined)
    throw new UsageError(`--expires must be ${INSTANT_FORM}.`);
  const actor = getSystemActor(parseRequiredReason(options));
  const what = `${credits} credits for up to ${uses} ${uses === 1 ? 'account' : 'accounts'}`;
  if (!shouldApply) return print(`A gift code of ${what} would be created.`);
  const { code, row } = await createGiftCode(actor, { credits, uses, expiresAt });
  print(`${code}: ${what}, expires ${formatTime(row.expires_at)}. It is shown only once; its UUID is ${row.uuid}.`);
}

export async function listCodes({ print }: CommandContext): Promise<void> {
  const { items } = await listGiftCodes(1);
  const rows = items.map((row) => [
    row.uuid,
    row.prefix,
    String(row.credits),
    `${row.uses} of ${row.uses_max}`,
    formatTime(row.expires_at),
    formatTime(row.revoked_at),
  ]);
  printTable(print, ['uuid', 'code', 'credits', 'redeemed', 'expires', 'revoked'], rows);
}

export async function revokeCode({ args: [uuid = ''], options, shouldApply, print }: CommandContext): Promise<void> {
  const { prefix, uses, revoked_at: revokedAt } = await findGiftCode(uuid);
  const what = `The gift code ${prefix}…, redeemed ${uses} times,`;
  if (revokedAt !== null) return print(`${what} was already revoked on ${formatTime(revokedAt)}. Nothing is changed.`);
  if (!shouldApply) return print(`${what} would be revoked.`);
  await revokeGiftCode(getSystemActor(parseReason(options)), uuid);
  print(`${what} is revoked.`);
}

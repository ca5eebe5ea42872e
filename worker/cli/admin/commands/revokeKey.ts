import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { lookUpApiKeysForStaff } from '../../../../shared/domain/staff/accountLookup.ts';
import { revokeApiKey } from '../../../../shared/domain/accounts/apiKeys.ts';
import { buildServiceCaller } from '../../../../shared/domain/accounts/caller.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { type CommandContext, formatTime, printTable } from '../command.ts';
import { getSystemActor, parseReason } from '../systemActor.ts';

export async function revokeKey({ args: [query = ''], options, shouldApply, print }: CommandContext): Promise<void> {
  const found = await lookUpApiKeysForStaff(query);
  const [key] = found;
  if (key === undefined || found.length > 1) {
    const rows = found.map((one) => [one.uuid, String(one.account_id), formatTime(one.created_at)]);
    printTable(print, ['uuid', 'account', 'created'], rows);
    throw new ServiceError('validation_error', 'Several API keys match. Specify one by its UUID.');
  }
  const { email } = await getAccount(key.account_id);
  const what = `API key ${key.prefix}... "${key.name}" of ${email} (${key.uuid})`;
  if (key.revoked_at !== null) {
    print(
      `${what} was already revoked on ${formatTime(key.revoked_at)}. Nothing ${shouldApply ? 'was' : 'would be'} changed.`,
    );
    return;
  }
  if (!shouldApply) {
    print(`${what}, last used ${formatTime(key.last_used_at)}, would be revoked.`);
    return;
  }
  await revokeApiKey(buildServiceCaller(key.account_id), key.uuid, { actor: getSystemActor(parseReason(options)) });
  print(`${what} is revoked.`);
}

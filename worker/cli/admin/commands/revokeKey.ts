import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { revokeApiKey } from '../../../../shared/domain/accounts/apiKeys.ts';
import { lookUpApiKeysForStaff } from '../../../../shared/domain/accounts/adminLookup.ts';
import { logger } from '../../../../shared/lib/logger.ts';
import { ServiceError } from '../../../../shared/spec/errors.ts';
import { type CommandContext, formatTable, formatTime } from '../command.ts';

export async function revokeKey({ args: [named = ''], shouldApply, print }: CommandContext): Promise<void> {
  const found = await lookUpApiKeysForStaff(named);
  const [key] = found;
  if (key === undefined || found.length > 1) {
    for (const line of formatTable(
      ['uuid', 'account', 'created'],
      found.map((key) => [key.uuid, String(key.account_id), formatTime(key.created_at)]),
    ))
      print(line);
    throw new ServiceError('validation_error', 'Several keys begin like this: name one by its uuid.');
  }
  const { email } = await getAccount(key.account_id);
  const what = `The key ${key.prefix}... "${key.name}" of ${email} (${key.uuid})`;
  if (key.revoked_at !== null) {
    print(`${what} was revoked on ${formatTime(key.revoked_at)}: nothing ${shouldApply ? 'was' : 'would be'} changed.`);
    return;
  }
  if (!shouldApply) {
    print(`${what}, last used ${formatTime(key.last_used_at)}, would be revoked.`);
    return;
  }
  await revokeApiKey(key.account_id, key.uuid);
  logger.info({ account: key.account_id, key: key.uuid }, 'key revoked by the staff');
  print(`${what} is revoked.`);
}

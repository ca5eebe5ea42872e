import { accountById } from '../../../shared/domain/accounts.ts';
import { revokeApiKey } from '../../../shared/domain/apiKeys.ts';
import { lookUpApiKeys } from '../../../shared/domain/lookUp.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { type Call, table, time } from '../command.ts';

export async function revokeKey({ names: [named = ''], isForReal, say }: Call): Promise<void> {
  const found = await lookUpApiKeys(named);
  const [key] = found;
  if (key === undefined || found.length > 1) {
    for (const line of table(
      ['uuid', 'account', 'created'],
      found.map((key) => [key.uuid, String(key.account_id), time(key.created_at)]),
    ))
      say(line);
    throw new ServiceError('validation_error', 'Several keys begin like this: name one by its uuid.');
  }
  const { email } = await accountById(key.account_id);
  const what = `The key ${key.prefix}... "${key.name}" of ${email} (${key.uuid})`;
  if (key.revoked_at !== null) {
    say(`${what} was revoked on ${time(key.revoked_at)}: nothing ${isForReal ? 'was' : 'would be'} changed.`);
    return;
  }
  if (!isForReal) {
    say(`${what}, last used ${time(key.last_used_at)}, would be revoked.`);
    return;
  }
  await revokeApiKey(key.account_id, key.uuid);
  logger.info({ account: key.account_id, key: key.uuid }, 'key revoked by the staff');
  say(`${what} is revoked.`);
}

import type { UpdateApiKey } from '@genmeter/client';
import { type Command, InvalidArgumentError } from 'commander';

/** Value that removes an option. Commander replaces a parsed null by an empty text, so it becomes null afterwards. */
const NONE = 'none';
type None = typeof NONE;

/** Options of the commands that create and change API keys. */
export interface KeyFlags {
  scopes?: NonNullable<UpdateApiKey['scopes']> | None;
  expires?: string;
  limit?: NonNullable<UpdateApiKey['credit_limit']> | None;
  models?: string[] | None;
  ips?: string[] | None;
}

export function withKeyOptions(command: Command): Command {
  return command
    .option('--scopes <list>', 'svc:read, svc:write, account, separated by commas', parseList)
    .option('--expires <time>', 'date or time from which the key is rejected')
    .option('--limit <credits/period>', 'most credits to spend, such as 200/day, 500/month or 900/total', parseLimit)
    .option('--models <list>', 'models that the key may use, separated by commas', parseList)
    .option('--ips <list>', 'addresses or ranges from which the key may be used, separated by commas', parseList);
}

/** Returns the options in the form of a request. */
export function readKeyOptions({ scopes, expires, limit, models, ips }: KeyFlags): UpdateApiKey {
  return {
    ...(scopes === undefined ? {} : { scopes: toValue(scopes) }),
    ...(expires === undefined ? {} : { expires_at: toValue(expires) }),
    ...(limit === undefined ? {} : { credit_limit: toValue(limit) }),
    ...(models === undefined ? {} : { allowed_models: toValue(models) }),
    ...(ips === undefined ? {} : { allowed_ips: toValue(ips) }),
  };
}

const toValue = <Value>(value: Value | None): Value | null => (value === NONE ? null : value);

function parseList(text: string): string[] | None {
  return text === NONE ? NONE : text.split(',').map((item) => item.trim());
}

function parseLimit(text: string): KeyFlags['limit'] {
  if (text === NONE) return NONE;
  const [, credits, period] = /^([1-9]\d*)\/(day|month|total)$/.exec(text) ?? [];
  if (credits === undefined || period === undefined)
    throw new InvalidArgumentError('Write credits/period, such as 200/day, 500/month or 900/total.');
  return { credits: Number(credits), period: period as 'day' | 'month' | 'total' };
}

import type { UpdateApiKey } from '@genmeter/client';
import { type Command, InvalidArgumentError } from 'commander';

/** Options of the commands that create and change API keys. */
export interface KeyFlags {
  json?: boolean;
  scopes?: UpdateApiKey['scopes'];
  expires?: string;
  limit?: UpdateApiKey['credit_limit'];
  models?: string[] | null;
  ips?: string[] | null;
}

/** Value that removes an option. */
const NONE = 'none';

export function withKeyOptions(command: Command): Command {
  return command
    .option('--scopes <list>', 'svc:read, svc:write or both, separated by commas', parseList)
    .option('--expires <time>', 'date or time from which the key is rejected')
    .option('--limit <credits/period>', 'most credits to spend, such as 200/day, 500/month or 900/total', parseLimit)
    .option('--models <list>', 'models that the key may use, separated by commas', parseList)
    .option('--ips <list>', 'addresses or ranges from which the key may be used, separated by commas', parseList);
}

/** Returns the options in the form of a request. */
export function readKeyOptions({ scopes, expires, limit, models, ips }: KeyFlags): UpdateApiKey {
  return {
    ...(scopes === undefined ? {} : { scopes }),
    ...(expires === undefined ? {} : { expires_at: expires === NONE ? null : expires }),
    ...(limit === undefined ? {} : { credit_limit: limit }),
    ...(models === undefined ? {} : { allowed_models: models }),
    ...(ips === undefined ? {} : { allowed_ips: ips }),
  };
}

function parseList(text: string): string[] | null {
  return text === NONE ? null : text.split(',').map((item) => item.trim());
}

function parseLimit(text: string): UpdateApiKey['credit_limit'] {
  if (text === NONE) return null;
  const [, credits, period] = /^([1-9]\d*)\/(day|month|total)$/.exec(text) ?? [];
  if (credits === undefined || period === undefined)
    throw new InvalidArgumentError('Write credits/period, such as 200/day, 500/month or 900/total.');
  return { credits: Number(credits), period: period as 'day' | 'month' | 'total' };
}

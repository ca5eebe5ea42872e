import type { ApiKey, List, UsageSummary } from '@genmeter/client';
import type { Command } from 'commander';
import { type KeyFlags, readKeyOptions, withKeyOptions } from '../keyOptions.ts';
import { EXAMPLE_UUID, withExamples, withoutArguments } from '../help.ts';
import { formatFields, formatList, formatTable, formatTime, printResult, toLine, withJson } from '../output.ts';
import { openClient, openPublicClient } from '../session.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';

interface JsonOption {
  json?: boolean;
}

export function addAccountCommands(program: Command, terminal: Terminal): void {
  const { signal } = terminal;
  const usage = program
    .command('usage')
    .description('show plan, balance and usage')
    .option('--by-key', 'usage of each API key instead');
  withExamples(usage, 'usage', 'usage --by-key');
  withJson(usage).action(async ({ json, byKey }: JsonOption & { byKey?: boolean }) => {
    const client = openClient(terminal);
    if (byKey !== true) {
      const summary = await client.usage.summary({ signal });
      printResult(terminal, json, summary, () => formatUsage(summary));
      return;
    }
    const keys = await readAll(client.usage.byKey({ signal }));
    printResult(terminal, json, keys, () =>
      formatList(
        'API keys',
        ['NAME', 'PREFIX', 'CREDITS', 'GENERATIONS'],
        keys.map((key) => [key.name, key.prefix, key.credits, key.count]),
      ),
    );
  });

  const models = program.command('models').description('list models, with their prices and accepted values');
  withExamples(models, 'models');
  withJson(models).action(async ({ json }: JsonOption) => {
    const found = await readAll(openPublicClient(terminal).models.list({ signal }));
    printResult(terminal, json, found, () =>
      formatList(
        'models',
        ['MODEL', 'KIND', 'STATUS', 'CREDITS FROM', 'RESOLUTIONS', 'ASPECT RATIOS', 'SECONDS'],
        found.map(({ slug, kind, status, credits_base: credits, params_schema: params }) => [
          slug,
          kind,
          status,
          credits,
          params.resolutions.join(' '),
          params.aspect_ratios.join(' '),
          params.durations?.join(' ') ?? '-',
        ]),
      ),
    );
  });
  const redeem = program.command('redeem').description('redeem a gift code').argument('<code>', 'code, GIFT-...');
  withExamples(redeem, 'redeem GIFT-7K2M-9QXW-4HTD-0B3R');
  withJson(redeem).action(async (code: string, { json }: JsonOption) => {
    const redeemed = await openClient(terminal).giftCodes.redeem(code, { signal });
    const { credits, balance } = redeemed;
    printResult(terminal, json, redeemed, () => `${credits} credits added; the balance is ${balance}.`);
  });
  addKeyCommands(program.command('keys').description('manage API keys'), terminal);
}

function addKeyCommands(keys: Command, terminal: Terminal): void {
  const { signal } = terminal;
  const list = withoutArguments(keys.command('list', { isDefault: true }).description('list API keys'));
  withExamples(withJson(list), 'keys list', 'keys list --json').action(async ({ json }: JsonOption) => {
    const found = await readAll(openClient(terminal).keys.list({ signal }));
    printResult(terminal, json, found, () => formatKeys(found));
  });
  const create = withJson(
    keys
      .command('create')
      .description('create an API key, which is shown once')
      .argument('<name>', 'name of the key, 1 to 64 characters')
      .option('--test', 'create a test key, whose generations cost nothing'),
  );
  withExamples(
    create,
    'keys create "nightly job" --scopes svc:read,svc:write --limit 200/day --expires 2027-06-30',
    'keys create ci --test',
  );
  withKeyOptions(create).action(async (name: string, { json, test, ...options }: KeyFlags & { test?: true }) => {
    const request = { name, ...(test === true ? { mode: 'test' as const } : {}), ...readKeyOptions(options) };
    const created = await openClient(terminal).keys.create(request, { signal });
    printResult(terminal, json, created, () => toLine(created.key));
  });
  const update = withJson(
    keys
      .command('update')
      .description('change the name or options of an API key; the value none removes an option')
      .argument('<uuid>', 'UUID of the key')
      .option('--name <name>', 'new name'),
  );
  withExamples(update, `keys update ${EXAMPLE_UUID} --limit 500/month`, `keys update ${EXAMPLE_UUID} --expires none`);
  withKeyOptions(update).action(async (uuid: string, { json, name, ...options }: KeyFlags & { name?: string }) => {
    const change = { ...(name === undefined ? {} : { name }), ...readKeyOptions(options) };
    if (Object.keys(change).length === 0) {
      throw new CommandError(
        EXIT.usage,
        'usage',
        'Pass at least one option to change. See genmeter keys update --help.',
      );
    }
    const key = await openClient(terminal).keys.update(uuid, change, { signal });
    printResult(terminal, json, key, () => formatKeys([key]));
  });
  const revoke = keys
    .command('revoke')
    .description('revoke an API key, immediately and permanently')
    .argument('<uuid>', 'UUID of the key');
  withExamples(revoke, `keys revoke ${EXAMPLE_UUID}`);
  withJson(revoke).action(async (uuid: string, { json }: JsonOption) => {
    const result = await openClient(terminal).keys.revoke(uuid, { signal });
    printResult(terminal, json, result, () => `Revoked ${uuid}.`);
  });
}

async function readAll<Item extends { uuid: string }>(list: List<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}

function formatKeys(keys: readonly ApiKey[]): string {
  return formatList(
    'API keys',
    ['UUID', 'NAME', 'PREFIX', 'CREATED', 'LAST USED', 'STATE', 'MODE'],
    keys.map((key) => [
      key.uuid,
      key.name,
      key.prefix,
      formatTime(key.created_at),
      formatTime(key.last_used_at),
      key.revoked ? 'revoked' : 'active',
      key.mode ?? 'live',
    ]),
  );
}

function formatUsage({ plan, credits, jobs, by_model: models }: UsageSummary): string {
  const rows: [string, string | number][] = [
    ['plan', plan === null ? 'none' : `${plan.name}, ${plan.monthly_credits} credits per month`],
    ['balance', `${credits.balance} credits`],
    ['used', `${credits.used_this_period} of ${credits.granted_this_period} credits of this period`],
    ['period', `${formatTime(credits.period_start)} to ${formatTime(credits.period_end)}`],
    ['active', `${jobs.in_flight} of ${jobs.parallel_limit} parallel generations`],
  ];
  const table = formatTable(
    ['MODEL', 'CREDITS', 'GENERATIONS'],
    models.map(({ model, credits: used, count }) => [model, used, count]),
  );
  return [formatFields(rows, 8), ...(models.length === 0 ? [] : ['', table])].join('\n');
}

import type { ApiKey, List, UsageSummary } from '@genmeter/client';
import type { Command } from 'commander';
import { type KeyFlags, readKeyOptions, withKeyOptions } from '../keyOptions.ts';
import { formatFields, formatTable, formatTime, printResult, withJson } from '../output.ts';
import { openClient, openPublicClient } from '../session.ts';
import type { Terminal } from '../terminal.ts';

interface JsonOption {
  json?: boolean;
}

export function addAccountCommands(program: Command, terminal: Terminal): void {
  const { signal } = terminal;
  const usage = program
    .command('usage')
    .description('show plan, balance and usage')
    .option('--by-key', 'usage of each API key instead');
  withJson(usage).action(async ({ json, byKey }: JsonOption & { byKey?: boolean }) => {
    const client = openClient(terminal);
    if (byKey !== true) {
      const summary = await client.usage.summary({ signal });
      printResult(terminal, json, summary, () => formatUsage(summary));
      return;
    }
    const keys = await readAll(client.usage.byKey({ signal }));
    printResult(terminal, json, keys, () =>
      formatTable(
        ['NAME', 'PREFIX', 'CREDITS', 'GENERATIONS'],
        keys.map((key) => [key.name, key.prefix, key.credits, key.count]),
      ),
    );
  });

  withJson(program.command('models').description('list models, with their prices and accepted values')).action(
    async ({ json }: JsonOption) => {
      const models = await readAll(openPublicClient(terminal).models.list({ signal }));
      printResult(terminal, json, models, () =>
        formatTable(
          ['MODEL', 'KIND', 'STATUS', 'CREDITS FROM', 'RESOLUTIONS', 'ASPECT RATIOS', 'SECONDS'],
          models.map(({ slug, kind, status, credits_base: credits, params_schema: params }) => [
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
    },
  );
  addKeyCommands(program.command('keys').description('manage API keys'), terminal);
}

function addKeyCommands(keys: Command, terminal: Terminal): void {
  const { signal } = terminal;
  withJson(keys.command('list', { isDefault: true }).description('list API keys')).action(
    async ({ json }: JsonOption) => {
      const found = await readAll(openClient(terminal).keys.list({ signal }));
      printResult(terminal, json, found, () => formatKeys(found));
    },
  );
  const create = withJson(
    keys
      .command('create')
      .description('create an API key, which is shown once')
      .argument('<name>')
      .option('--test', 'create a test key, whose generations cost nothing'),
  );
  withKeyOptions(create).action(async (name: string, { json, test, ...options }: KeyFlags & { test?: true }) => {
    const request = { name, ...(test === true ? { mode: 'test' as const } : {}), ...readKeyOptions(options) };
    const created = await openClient(terminal).keys.create(request, { signal });
    printResult(terminal, json, created, () => created.key);
  });
  const update = withJson(
    keys
      .command('update')
      .description('change the name or options of an API key; the value none removes an option')
      .argument('<uuid>')
      .option('--name <name>', 'new name'),
  );
  withKeyOptions(update).action(async (uuid: string, { json, name, ...options }: KeyFlags & { name?: string }) => {
    const change = { ...(name === undefined ? {} : { name }), ...readKeyOptions(options) };
    const key = await openClient(terminal).keys.update(uuid, change, { signal });
    printResult(terminal, json, key, () => formatKeys([key]));
  });
  withJson(
    keys.command('revoke').description('revoke an API key, immediately and permanently').argument('<uuid>'),
  ).action(async (uuid: string, { json }: JsonOption) => {
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
  return formatTable(
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

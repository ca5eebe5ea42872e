import type { UsageSummary } from '@genmeter/client';
import type { Command } from 'commander';
import { withExamples } from '../help.ts';
import { describeParams, findModel } from '../models.ts';
import { formatFields, formatList, formatTable, formatTime, printResult } from '../output.ts';
import { readAll } from '../readList.ts';
import { openClient, openPublicClient } from '../session.ts';
import type { Terminal } from '../terminal.ts';

export function addAccountCommands(program: Command, terminal: Terminal): void {
  const usage = program
    .command('usage')
    .description('show plan, balance and usage')
    .option('--by-key', 'usage of each API key instead');
  withExamples(usage, 'usage', 'usage --by-key').action(({ byKey }: { byKey?: true }) =>
    byKey === true ? showUsageByKey(terminal) : showUsage(terminal),
  );

  const models = program
    .command('models')
    .description('list models with their prices, or show the parameters of one')
    .argument('[slug]', 'model whose parameters are shown');
  withExamples(models, 'models', 'models imgmodel-2').action((slug: string | undefined) =>
    slug === undefined ? listModels(terminal) : showModel(slug, terminal),
  );

  const redeem = program.command('redeem').description('redeem a gift code').argument('<code>', 'code, GIFT-...');
  withExamples(redeem, 'redeem GIFT-7K2M-9QXW-4HTD-0B3R').action(async (code: string) => {
    const redeemed = await openClient(terminal).giftCodes.redeem(code, { signal: terminal.signal });
    const { credits, balance } = redeemed;
    printResult(terminal, redeemed, () => `${credits} credits added; the balance is ${balance}.`);
  });
}

async function showUsage(terminal: Terminal): Promise<void> {
  const summary = await openClient(terminal).usage.summary({ signal: terminal.signal });
  printResult(terminal, summary, () => formatUsage(summary));
}

async function showUsageByKey(terminal: Terminal): Promise<void> {
  const keys = await readAll(openClient(terminal).usage.byKey({ signal: terminal.signal }));
  printResult(terminal, keys, () =>
    formatList(
      'API keys',
      ['NAME', 'PREFIX', 'CREDITS', 'GENERATIONS'],
      keys.map((key) => [key.name, key.prefix, key.credits, key.count]),
    ),
  );
}

async function listModels(terminal: Terminal): Promise<void> {
  const models = await readAll(openPublicClient(terminal).models.list({ signal: terminal.signal }));
  printResult(terminal, models, () =>
    formatList(
      'models',
      ['MODEL', 'KIND', 'STATUS', 'CREDITS FROM', 'DESCRIPTION'],
      models.map((model) => [model.slug, model.kind, model.status, model.credits_base, model.description]),
    ),
  );
}

async function showModel(slug: string, terminal: Terminal): Promise<void> {
  const model = await findModel(openPublicClient(terminal), { slug }, terminal.signal);
  printResult(terminal, model, () => {
    const fields = formatFields(
      [
        ['model', model.slug],
        ['kind', model.kind],
        ['status', model.status],
        ['credits', `from ${model.credits_base}`],
      ],
      9,
    );
    const rows = describeParams(model).map(({ name, values, fallback, description }) => [
      name,
      values,
      fallback,
      description,
    ]);
    return `${fields}\n\n${formatList('parameters', ['PARAMETER', 'VALUES', 'DEFAULT', 'DESCRIPTION'], rows)}`;
  });
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

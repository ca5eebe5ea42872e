import type { ApiKey } from '@genmeter/client';
import type { Command } from 'commander';
import { EXAMPLE_UUID, withExamples, withoutArguments } from '../help.ts';
import { type KeyFlags, readKeyOptions, withKeyOptions } from '../keyOptions.ts';
import { formatList, formatTime, printResult, toLine } from '../output.ts';
import { readAll } from '../readList.ts';
import { openClient } from '../session.ts';
import { CommandError, EXIT, type Terminal } from '../terminal.ts';

export function addKeyCommands(program: Command, terminal: Terminal): void {
  const { signal } = terminal;
  const keys = program.command('keys').description('manage API keys');
  const list = withoutArguments(keys.command('list', { isDefault: true }).description('list API keys'));
  withExamples(list, 'keys list', 'keys list --json').action(async () => {
    const found = await readAll(openClient(terminal).keys.list({ signal }));
    printResult(terminal, found, () => formatKeys(found));
  });
  const create = keys
    .command('create')
    .description('create an API key, which is shown once')
    .argument('<name>', 'name of the key, 1 to 64 characters')
    .option('--test', 'create a test key, whose generations cost nothing');
  withExamples(
    create,
    'keys create "nightly job" --scopes svc:read,svc:write --limit 200/day --expires 2027-06-30',
    'keys create ci --test',
  );
  withKeyOptions(create).action(async (name: string, { test, ...options }: KeyFlags & { test?: true }) => {
    const request = { name, ...(test === true ? { mode: 'test' as const } : {}), ...readKeyOptions(options) };
    const created = await openClient(terminal).keys.create(request, { signal });
    printResult(terminal, created, () => toLine(created.key));
  });
  const update = keys
    .command('update')
    .description('change the name or options of an API key; the value none removes an option')
    .argument('<uuid>', 'UUID of the key')
    .option('--name <name>', 'new name');
  withExamples(update, `keys update ${EXAMPLE_UUID} --limit 500/month`, `keys update ${EXAMPLE_UUID} --expires none`);
  withKeyOptions(update).action(async (uuid: string, { name, ...options }: KeyFlags & { name?: string }) => {
    const change = { ...(name === undefined ? {} : { name }), ...readKeyOptions(options) };
    if (Object.keys(change).length === 0) {
      throw new CommandError(
        EXIT.usage,
        'usage',
        'Pass at least one option to change. See genmeter keys update --help.',
      );
    }
    const key = await openClient(terminal).keys.update(uuid, change, { signal });
    printResult(terminal, key, () => formatKeys([key]));
  });
  const revoke = keys
    .command('revoke')
    .description('revoke an API key, immediately and permanently')
    .argument('<uuid>', 'UUID of the key');
  withExamples(revoke, `keys revoke ${EXAMPLE_UUID}`);
  revoke.action(async (uuid: string) => {
    const result = await openClient(terminal).keys.revoke(uuid, { signal });
    printResult(terminal, result, () => `Revoked ${uuid}.`);
  });
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

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { RETENTION } from '../../shared/domain/features.ts';
import { buildPruneStatement } from '../../shared/domain/retention.ts';
import { DAY_MS } from '../../shared/spec/durations.ts';

const ENTRIES = RETENTION.filter((entry) => typeof entry !== 'function');

/** Rows of the table of periods in docs/privacy.md. */
const DOCUMENTED = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '));

describe('retention periods', () => {
  it('have statements with different names', () => {
    const names = ENTRIES.map((entry) => buildPruneStatement(entry).name);
    expect(new Set(names).size).to.equal(names.length);
  });

  it('are those that docs/privacy.md lists', () => {
    // Public keys of the service are not about a person.
    for (const { table, afterMs } of ENTRIES.filter((entry) => entry.table !== 'oauth_signing_keys')) {
      const days = afterMs / DAY_MS;
      const period = days >= 1 ? (days === 1 ? 'a day' : `${days} days`) : '';
      const rows = DOCUMENTED.filter((row) => row.includes(`\`${table}\``) || row.includes(`\`${table}.`));
      expect(rows.join('\n').toLowerCase(), `${table} after ${days} days`).to.include(period).and.to.not.equal('');
    }
  });
});

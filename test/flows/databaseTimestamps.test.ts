import { expect } from 'chai';
import { db } from '../../shared/lib/database/pool.ts';
import { prepared, runStatement } from '../../shared/lib/database/preparedStatements.ts';
import { useTestService } from '../harness/testService.ts';

/** Zones with whole, half and quarter hours, before and after UTC. */
const TIME_ZONES = ['UTC', 'Europe/Berlin', 'America/Los_Angeles', 'America/St_Johns', 'Asia/Kathmandu'];
const TIMES = [
  '1970-01-01T00:00:00.000Z',
  '2024-02-29T23:59:59.999Z',
  '2026-03-29T01:00:00.001Z',
  '2026-10-25T00:59:59.570Z',
  '2026-11-27T14:57:58.100Z',
  '9999-12-30T12:00:00.000Z',
];

const GET_TIMES = prepared(
  'get_test_times',
  `SELECT time, time + interval '999 microseconds' AS later
     FROM unnest(cast(:times AS timestamptz[])) WITH ORDINALITY AS t (time, ordinal) ORDER BY ordinal`,
);

describe('a timestamp of the database', () => {
  useTestService({ workers: 0 });

  for (const zone of TIME_ZONES) {
    it(`is read to the millisecond in a session of the time zone ${zone}`, async () => {
      const rows = await db.transaction(async (transaction) => {
        await transaction.raw(`SET LOCAL TimeZone = '${zone}'`);
        return runStatement<{ time: Date; later: Date }>(GET_TIMES, { times: TIMES }, transaction);
      });
      expect(rows.map(({ time }) => time.toISOString())).to.deep.equal(TIMES);
      expect(rows.map(({ later }) => later.toISOString())).to.deep.equal(TIMES);
    });
  }
});

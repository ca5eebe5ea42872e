import { expect } from 'chai';
import { recordAccepted } from '../../shared/domain/generations/execution/submit.ts';
import { eventually, useTestService } from '../harness/testService.ts';

describe('a generation that succeeds at its deadline', () => {
  const service = useTestService();
  before(async () => {
    service.upstream.outcome = 'wait';
  });

  it('is neither failed nor canceled at its upstream while its expiry waits for the account', async () => {
    const customer = await service.createCustomer('pro');
    const { uuid, prompt } = await customer.createImage();
    await eventually('submitted', async () => {
      const [row] = await service.sql('SELECT upstream_handle FROM generations WHERE uuid = $1', [uuid]);
      return row.upstream_handle !== null;
    });
    const lock = await service.database.connect();
    try {
      await lock.query('BEGIN');
      await lock.query('SELECT 1 FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [customer.email]);
      await service.sql(`UPDATE generations SET deadline_at = now() - interval '1 second' WHERE uuid = $1`, [uuid]);
      await eventually('the expiry waits for the account', async () => {
        const waiting = await service.sql(
          `SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%fail_generations%'`,
        );
        return waiting.length > 0;
      });
      // A worker that has received the output meanwhile commits this.
      await lock.query(
        `UPDATE generations SET status = 'succeeded', completed_at = deadline_at - interval '1 second', output_path = 'a.png'
          WHERE uuid = $1`,
        [uuid],
      );
      await lock.query('UPDATE accounts SET in_flight = in_flight - 1 WHERE email = $1', [customer.email]);
      await lock.query('COMMIT');
    } finally {
      lock.release();
    }
    // The next expiry comes after what the first one did at the upstream.
    const next = await customer.createImage();
    await service.sql('UPDATE generations SET deadline_at = now() WHERE uuid = $1', [next.uuid]);
    expect((await customer.waitForEnd(next.uuid)).status).to.equal('failed');
    expect((await customer.readGeneration(uuid)).body.status).to.equal('succeeded');
    expect(service.upstream.jobsFor(prompt).map(({ cancelled }) => cancelled)).to.deep.equal([false]);
  });

  it('counts as submitted when the recording of its handle is repeated, and not with another handle', async () => {
    const customer = await service.createCustomer('pro');
    const { uuid, prompt } = await customer.createImage();
    await eventually('accepted', () => service.upstream.jobsFor(prompt).length === 1);
    service.upstream.end(prompt, 'succeeded');
    expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
    const [recorded] = await service.sql(
      `SELECT uuid, account_id, upstream_handle AS handle, upstream, upstream_model, submitted_at AS since, failed_over_at,
              2000 AS "firstPollDelayMs"
         FROM generations WHERE uuid = $1`,
      [uuid],
    );
    expect(await recordAccepted(recorded)).to.equal('recorded');
    expect(await recordAccepted({ ...recorded, handle: { request_id: 'another' } })).to.equal('late');
  });
});

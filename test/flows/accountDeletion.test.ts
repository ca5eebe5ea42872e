import { expect } from 'chai';
import { reinstateAccount, suspendAccount } from '../../shared/domain/staff/suspension.ts';
import { requestAccountDeletion, undoAccountDeletion } from '../../shared/domain/privacy/deletion.ts';
import { buildServiceCaller } from '../../shared/domain/accounts/caller.ts';
import { SERVICE_ORIGIN } from '../../shared/domain/accounts/securityEvents.ts';
import { DAY_MS } from '../../shared/spec/durations.ts';
import { enrollAffiliate, signUpReferred } from '../harness/affiliates.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { useBillingService } from '../harness/billingService.ts';
import { runJob } from '../harness/jobs.ts';
import { captureError } from '../harness/expectRejection.ts';
import { waitForLockWaits, whileAccountIsLocked } from '../harness/lockedAccount.ts';
import { eventually } from '../harness/testService.ts';
import { buildOwnerCaller } from '../harness/people.ts';
import { makeTasksDue, readTasks, runAccountDeletions, runDueTasks } from '../harness/tasks.ts';

describe('the deletion of an account with payments', () => {
  const billing = useBillingService();
  afterEach(() => billing.stripe.reset());

  const getRow = async ({ email }: TestCustomer) =>
    (await billing.service.sql('SELECT * FROM accounts WHERE email = $1', [email]))[0];
  const getRowById = async (id: number) => (await billing.service.sql('SELECT * FROM accounts WHERE id = $1', [id]))[0];
  const getDeletion = async (id: number) =>
    (await billing.service.sql('SELECT * FROM account_deletions WHERE account_id = $1', [id]))[0];
  const requestDeletion = async (customer: TestCustomer): Promise<number> => {
    const { id } = await getRow(customer);
    await requestAccountDeletion(buildOwnerCaller(id, customer), customer.email, SERVICE_ORIGIN);
    return id;
  };
  const sweep = () => runDueTasks(billing.service);
  const getTask = async (id: number) =>
    (await readTasks(billing.service, 'account.delete')).find(({ key }) => key === String(id));
  /** Makes a deletion due, as after seven days, or after the back-off of a failure. */
  const makeDue = async (id: number) => {
    await billing.service.sql(
      `UPDATE account_deletions SET erase_at = now() - interval '1 second' WHERE account_id = $1`,
      [id],
    );
    await retryNow(id);
  };
  const retryNow = (id: number) =>
    billing.service.sql(`UPDATE tasks SET run_at = now() WHERE kind = 'account.delete' AND key = $1`, [String(id)]);
  const theirs = (customer: TestCustomer) => billing.subscription(customer);

  it('stops the renewal at Stripe, retries while that fails, and resumes it after an undo', async () => {
    const customer = await billing.createCustomer('pro');
    billing.stripe.faults.all = 'error';
    const id = await requestDeletion(customer);
    await sweep();
    expect(theirs(customer).cancel_at_period_end).to.equal(false);
    const failed = await getTask(id);
    expect([(await getDeletion(id)).status, failed.attempts, failed.lease]).to.deep.equal(['pending', 1, null]);
    expect(failed.run_at > new Date()).to.equal(true);

    delete billing.stripe.faults.all;
    await retryNow(id);
    await sweep();
    expect(theirs(customer).cancel_at_period_end).to.equal(true);
    const waiting = await getDeletion(id);
    const next = await getTask(id);
    expect([next.attempts, next.last_error]).to.deep.equal([0, null]);
    // The step is repeated each day.
    expect(next.run_at.getTime() - Date.now()).to.be.within(DAY_MS - 60_000, DAY_MS);
    expect(waiting.erase_at.getTime() - waiting.requested_at.getTime()).to.equal(7 * DAY_MS);
    await billing.drained();

    await undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN);
    billing.stripe.faults.all = 'error';
    await sweep();
    expect((await getDeletion(id)).status).to.equal('undone');
    delete billing.stripe.faults.all;
    await retryNow(id);
    await sweep();
    expect(theirs(customer).cancel_at_period_end).to.equal(false);
    expect(await getDeletion(id)).to.equal(undefined);
    await billing.drained();
    expect((await customer.requestWithSession('GET', '/api/billing/status/')).body).to.include({
      status: 'active',
      cancel_at_period_end: false,
    });
  });

  it('does not resume a subscription that its owner had canceled before', async () => {
    const customer = await billing.createCustomer('lite');
    billing.stripe.cancelAtPeriodEnd(billing.customerId(customer));
    await billing.drained();
    const id = await requestDeletion(customer);
    await sweep();
    await undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN);
    await sweep();
    expect(theirs(customer).cancel_at_period_end).to.equal(true);
    expect(await getDeletion(id)).to.equal(undefined);
  });

  it('keeps a paid year that is disputed, which continues after an undo and a won dispute', async () => {
    const customer = await billing.createCustomer('pro');
    const dispute = billing.stripe.openDispute(theirs(customer).latest_invoice as string);
    await billing.drained();
    const readStatus = async (id: number) =>
      (await billing.service.sql('SELECT status FROM subscriptions WHERE account_id = $1', [id]))[0].status;
    const id = await requestDeletion(customer);
    expect(await readStatus(id)).to.equal('unpaid');
    await sweep();
    expect([theirs(customer).status, theirs(customer).cancel_at_period_end]).to.deep.equal(['active', true]);
    await undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN);
    await sweep();
    billing.stripe.closeDispute(dispute.id, 'won');
    await billing.drained();
    expect([await readStatus(id), theirs(customer).cancel_at_period_end]).to.deep.equal(['active', false]);
    expect((await getRowById(id)).plan_credits).to.equal(1_100);
  });

  it('stops a renewal for which another plan is scheduled', async () => {
    const customer = await billing.createCustomer('pro');
    const subscription = theirs(customer);
    subscription.schedule = 'sub_sched_of_the_test';
    const id = await requestDeletion(customer);
    await sweep();
    expect([subscription.schedule, subscription.cancel_at_period_end]).to.deep.equal([null, true]);
    await undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN);
    await sweep();
    expect(subscription.cancel_at_period_end).to.equal(false);
    await billing.drained();
  });

  it('takes the last of several requests and undos, also while the sweep runs', async () => {
    const customer = await billing.createCustomer('lite');
    const id = await requestDeletion(customer);
    await Promise.all([
      runAccountDeletions(),
      undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN),
      runAccountDeletions(),
    ]);
    await requestDeletion(customer);
    await Promise.all([
      runAccountDeletions(),
      undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN),
      runAccountDeletions(),
    ]);
    await eventually('the deletion is undone at Stripe', async () => {
      await retryNow(id);
      await sweep();
      return (await getDeletion(id)) === undefined;
    });
    expect(theirs(customer).cancel_at_period_end).to.equal(false);
    await requestDeletion(customer);
    await sweep();
    expect(theirs(customer).cancel_at_period_end).to.equal(true);
    await billing.drained();
  });

  it('leaves the renewal on if it is undone while payments are being stopped', async () => {
    const customer = await billing.createCustomer('pro');
    const id = await requestDeletion(customer);
    const changes = () => billing.stripe.requests.filter(({ name }) => name === 'subscriptions.update').length;
    const before = changes();
    await whileAccountIsLocked(billing.service, id, async (holder) => {
      await runJob(billing, 'tasks', 'tasks.sweep');
      await waitForLockWaits(billing.service);
      // The undo schedules its step while the other one runs. Both have yet to read the subscription.
      await holder.query('UPDATE accounts SET deletion_requested_at = NULL WHERE id = $1', [id]);
      await billing.service.sql(`UPDATE account_deletions SET status = 'undone' WHERE account_id = $1`, [id]);
      await makeTasksDue(billing.service, 'account.delete');
      await runJob(billing, 'tasks', 'tasks.sweep');
      await waitForLockWaits(billing.service, 2);
    });
    await eventually('the renewal was stopped and resumed', async () => changes() >= before + 2);
    await sweep();
    await billing.drained();
    expect(await getDeletion(id)).to.equal(undefined);
    expect(theirs(customer).cancel_at_period_end).to.equal(false);
  });

  it('erases accounts while the erasure of another one takes long', async () => {
    const [large, small] = [await billing.createCustomer(null), await billing.createCustomer(null)];
    const ids = [await requestDeletion(large), await requestDeletion(small)] as const;
    await sweep();
    await whileAccountIsLocked(billing.service, ids[0], async () => {
      await makeDue(ids[0]);
      await runJob(billing, 'tasks', 'tasks.sweep');
      await waitForLockWaits(billing.service);
      await makeDue(ids[1]);
      await runJob(billing, 'tasks', 'tasks.sweep');
      await eventually('the other account is erased', async () => (await getRowById(ids[1])).erased_at !== null);
    });
    await sweep();
    expect((await getRowById(ids[0])).erased_at).to.not.equal(null);
  });

  it('erases the account after seven days, cancels the subscription and deletes the customer at Stripe', async () => {
    const customer = await billing.createCustomer('pro');
    const customerId = billing.customerId(customer);
    await customer.waitForEnd((await customer.createImage('a prompt to erase')).uuid);
    const id = await requestDeletion(customer);
    await sweep();
    await makeDue(id);
    // The cancellation, the erasure and the customer fail one after the other.
    billing.stripe.faults['subscriptions.cancel'] = 'error';
    await sweep();
    expect([(await getDeletion(id)).status, (await getRowById(id)).erased_at]).to.deep.equal(['erasing', null]);
    const tooLate = await captureError(undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN));
    expect(tooLate.message).to.include('can no longer be restored');
    delete billing.stripe.faults['subscriptions.cancel'];
    billing.stripe.faults['customers.delete'] = 'error';
    await retryNow(id);
    await sweep();
    expect((await getRowById(id)).erased_at).to.not.equal(null);
    expect((await getTask(id)).attempts).to.equal(2);
    delete billing.stripe.faults['customers.delete'];
    await retryNow(id);
    await sweep();
    expect(await getDeletion(id)).to.equal(undefined);
    expect(billing.stripe.store.deletedCustomers.has(customerId)).to.equal(true);
    await billing.drained();
    const row = await getRowById(id);
    expect(row.email).to.equal(`erased-${row.uuid}@erased.invalid`);
    expect([row.plan_slug, row.plan_credits]).to.deep.equal([null, 0]);
    const [subscription] = await billing.service.sql('SELECT status FROM subscriptions WHERE account_id = $1', [id]);
    expect(subscription.status).to.equal('canceled');
    expect((await customer.requestWithSession('GET', '/authentication/me/')).status).to.equal(401);
    // The address is free again.
    const { body } = await billing.service.request('POST', '/authentication/dev/sign-in/', {
      body: { email: customer.email },
    });
    expect(body.user.uuid).to.not.equal(row.uuid);
  });

  it('erases nothing while the account is suspended, and gives its owner seven days to undo after that', async () => {
    const customer = await billing.createCustomer('lite');
    const id = await requestDeletion(customer);
    const actor = { kind: 'system', systemUser: 'test', reason: 'a hijacked account' } as const;
    await suspendAccount(id, actor);
    await makeDue(id);
    await sweep();
    expect((await getDeletion(id)).status).to.equal('pending');
    expect((await getRowById(id)).erased_at).to.equal(null);
    await reinstateAccount(id, actor);
    const { erase_at: eraseAt } = await getDeletion(id);
    expect(eraseAt.getTime() - Date.now()).to.be.within(7 * DAY_MS - 60_000, 7 * DAY_MS);
    await undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN);
    await billing.drained();
    expect((await getRowById(id)).deletion_requested_at).to.equal(null);
  });

  it('continues after a crash between two steps, once the lease has expired', async () => {
    const customer = await billing.createCustomer('lite');
    const id = await requestDeletion(customer);
    await sweep();
    await makeDue(id);
    // A worker died after it began the erasure.
    await billing.service.sql(`UPDATE account_deletions SET status = 'erasing' WHERE account_id = $1`, [id]);
    await billing.service.sql(
      `UPDATE tasks SET lease = gen_random_uuid(), run_at = now() + interval '1 minute'
        WHERE kind = 'account.delete' AND key = $1`,
      [String(id)],
    );
    await runJob(billing, 'tasks', 'tasks.sweep');
    expect((await getRowById(id)).erased_at).to.equal(null);
    await retryNow(id);
    await sweep();
    expect((await getRowById(id)).erased_at).to.not.equal(null);
    expect(await getDeletion(id)).to.equal(undefined);
    await billing.drained();
  });

  it('either undoes a deletion or erases the account when both happen at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const customer = await billing.createCustomer(null);
      const id = await requestDeletion(customer);
      await makeDue(id);
      const [undo] = await Promise.allSettled([
        undoAccountDeletion(buildServiceCaller(id), SERVICE_ORIGIN),
        runAccountDeletions(),
      ]);
      const row = await getRowById(id);
      if (undo.status === 'fulfilled') {
        expect([row.erased_at, row.deletion_requested_at]).to.deep.equal([null, null]);
        expect(row.email).to.equal(customer.email);
      } else {
        // A scheduled run may have claimed it instead.
        await eventually('the account is erased', async () => (await getRowById(id)).erased_at !== null);
      }
    }
  });

  it('waits for generations in progress, which are completed or refunded as usual', async () => {
    const customer = await billing.createCustomer('pro');
    billing.service.upstream.outcome = 'wait';
    await customer.createImage('succeeds during the deletion');
    await customer.createImage('fails during the deletion');
    const id = await requestDeletion(customer);
    await makeDue(id);
    await sweep();
    expect((await getTask(id)).last_error).to.include('2 generations are in progress');
    await eventually('both are submitted', () => billing.service.upstream.jobs.length >= 2);
    billing.service.upstream.end('succeeds during the deletion', 'succeeded');
    billing.service.upstream.end('fails during the deletion', 'failed');
    billing.service.upstream.outcome = 'succeed';
    await eventually('both have ended', async () => (await getRowById(id)).in_flight === 0);
    const refunds = await billing.service.sql(
      `SELECT 1 FROM ledger_entries WHERE account_id = $1 AND entry_type = 'refund'`,
      [id],
    );
    expect(refunds).to.have.length(1);
    await retryNow(id);
    await sweep();
    expect((await getRowById(id)).erased_at).to.not.equal(null);
    await billing.drained();
  });

  it('pays out what an affiliate has earned, and nothing that referrals pay later', async () => {
    const { baseUrl } = billing.service;
    const { affiliate, code } = await enrollAffiliate(baseUrl);
    const { body } = await affiliate.request('POST', '/api/affiliate/onboarding-link/');
    billing.stripe.onboard(body.url);
    await billing.drained();
    const referred = await signUpReferred(baseUrl, code);
    await billing.subscribe(referred, 'lite');
    const later = await signUpReferred(baseUrl, code);
    const id = await requestDeletion(affiliate);
    await makeDue(id);
    await sweep();
    await billing.drained();
    expect((await getRowById(id)).erased_at).to.not.equal(null);

    await billing.subscribe(later, 'pro');
    const commissions = () =>
      billing.service.sql('SELECT amount_cents, settled_cents FROM commissions WHERE affiliate_id = $1', [id]);
    expect(await commissions()).to.deep.equal([{ amount_cents: 2_160, settled_cents: 0 }]);
    const link = await billing.service.request('GET', `/r/${code}`);
    expect(link.headers.getSetCookie().join('')).to.not.include('referral=');

    billing.service.fabricated.add('commissions-are-their-share');
    await billing.service.sql(
      `UPDATE commissions SET payable_at = payable_at - interval '3 months', synced_at = synced_at - interval '1 day'
        WHERE affiliate_id = $1`,
      [id],
    );
    await runJob(billing, 'billing', 'payouts.run');
    await runDueTasks(billing.service);
    expect(await commissions()).to.deep.equal([{ amount_cents: 2_160, settled_cents: 2_160 }]);
    const transfers = [...billing.stripe.summarize().transfers.values()].map(({ amountCents }) => amountCents);
    expect(transfers).to.deep.equal([2_160]);
  });
});

import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { PROBE_STALE_MS } from '../../spec/limits.ts';
import type { Caller } from '../accounts/caller.ts';
import {
  type AutoTopupState,
  buildAutoTopupState,
  getAutoTopupBindings,
  JOIN_PENDING_TOPUP,
} from '../billing/autoTopupRule.ts';
import { grantDueMonths } from '../credits/renewDuePeriods.ts';
import { buildRejectionError } from './rejections.ts';
import { CREATOR_ROLES, DECIDE_CREATES } from './chargeFunctions.ts';
import { type CreateInput, describeCredential, type Rejection, priceRequest } from './chargeRequest.ts';

const CREDENTIAL_REJECTIONS = ['invalid_api_key', 'account_suspended', 'role_changed', 'insufficient_scope'] as const;
type CredentialRejection = (typeof CREDENTIAL_REJECTIONS)[number];
/** A rejection that is not about the caller's credentials. */
export type RequestRejection = Exclude<Rejection, CredentialRejection>;

/** The decision about a create at this moment, and the account that it would charge. */
export interface Admission {
  outcome: RequestRejection | 'accepted' | 'replayed';
  /** Uuid of the account. */
  uuid: string;
  balance: number;
  /** State of the automatic top-ups for a create that the balance does not cover. */
  auto_topup: AutoTopupState;
}

type AdmissionRow = Omit<Admission, 'outcome'> & { outcome: Admission['outcome'] | CredentialRejection };

const READ_ADMISSION = prepared(
  'read_admission',
  `SELECT d.outcome, a.uuid, a.balance, ${buildAutoTopupState('d.credits')} AS auto_topup
     FROM ${DECIDE_CREATES.installedName}(:requests, ARRAY[cast(:account AS bigint)], cast(:keyHashes AS bytea[]), '{}',
                                          :now, :probedSince, ${CREATOR_ROLES}) AS d
     JOIN accounts a ON a.id = cast(:account AS bigint) ${JOIN_PENDING_TOPUP}`,
);

/**
 * Decides about a request as the charge would decide now, by the same rule. Takes no lock and waits for none, so that
 * the decision may differ from that of a charge at the same time. Like a create, grants a month that is due before it
 * rejects for lack of credits.
 * @throws ServiceError invalid_api_key, account_suspended or insufficient_scope: the caller may not make the request.
 */
export async function readAdmission(
  caller: Caller,
  input: Pick<CreateInput, 'model' | 'params'>,
  idempotencyKey: string | null = null,
): Promise<Admission> {
  const admission = await readAdmissionNow(caller, input, idempotencyKey);
  if (admission.outcome !== 'insufficient_credits' || !(await grantDueMonths(caller.accountId))) return admission;
  return readAdmissionNow(caller, input, idempotencyKey);
}

async function readAdmissionNow(
  caller: Caller,
  input: Pick<CreateInput, 'model' | 'params'>,
  idempotencyKey: string | null,
): Promise<Admission> {
  const at = now();
  const { accountId, credential } = caller;
  const credits = priceRequest(caller, input);
  const request = { ...describeCredential(caller), model: input.model, credits, created_at: at };
  const [row] = await runStatement<AdmissionRow>(READ_ADMISSION, {
    requests: JSON.stringify([{ ...request, idempotency_key: idempotencyKey }]),
    account: accountId,
    keyHashes: credential.kind === 'key' ? [credential.hash] : [],
    ...getAutoTopupBindings(at),
    probedSince: addMilliseconds(at, -PROBE_STALE_MS),
  });
  const rejection = row === undefined ? 'invalid_api_key' : CREDENTIAL_REJECTIONS.find((code) => code === row.outcome);
  if (rejection !== undefined) throw await buildRejectionError(rejection, { model: input.model, credits }, caller);
  return row as Admission;
}

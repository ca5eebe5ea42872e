import { isPaymentPending } from '../../../../shared/domain/billing/billingStatus.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { endCurrentSession } from '../../../pipeline/cookies/sessionCookie.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { isReloadLimitReached, sendPaymentPendingPage } from '../../billing/pages/paymentPending.tsx';
import { renderOverviewPage } from './view.tsx';

export async function showOverviewPage(ctx: Context): Promise<void> {
  if (ctx.query['checkout'] !== 'success' || !(await isPaymentPending(requireCaller(ctx).accountId)))
    return renderOverviewPage(ctx);
  if (isReloadLimitReached(ctx.query['reloads'])) return renderOverviewPage(ctx, { isPaymentPending: true });
  sendPaymentPendingPage(ctx);
}

export async function signOut(ctx: Context): Promise<void> {
  await endCurrentSession(ctx);
  seeOther(ctx, '/sign-in?done=signed-out');
}

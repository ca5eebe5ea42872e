import type { AssignableRole } from '../../../spec/roles.ts';
import type { EmailTexts, TextFormats } from './emailTexts.ts';
import { describeTopupReason } from './topupReasons.ts';

function describeOrigin({ browser, dateTime, time }: TextFormats, userAgent: string, network: string): string {
  const { name, system } = browser(userAgent);
  const program = `${name ?? 'unknown'}${system === null ? '' : ` on ${system}`}`;
  return `Time: ${dateTime(time)} UTC. Browser or program: ${program}. Network: ${network === '' ? 'unknown' : network}.`;
}

const NOT_YOU = 'If this was you, there is nothing to do.';

const ROLES: Record<AssignableRole, string> = {
  admin: 'admin',
  developer: 'developer',
  billing: 'billing',
  viewer: 'viewer',
};

export const EN: EmailTexts = {
  greeting: (firstName) => (firstName === '' ? 'Hello,' : `Hello ${firstName},`),
  reason: (brand) => `You receive this message because you have an account at ${brand}.`,
  securityReason: (brand) =>
    `You receive this message because it concerns the security of your account at ${brand}. Messages about security cannot be switched off.`,
  membershipReason: (brand) =>
    `You receive this message because it concerns your access to an account at ${brand}. Messages about this cannot be switched off.`,
  invitationReason: (brand) =>
    `You receive this message because someone with an account at ${brand} entered your address. Ignore it if you do not know them.`,
  settings: 'Notification settings',
  unsubscribe: 'Stop messages of this kind',
  support: 'Contact support',
  messages: {
    welcome: (_params, { brand }) => ({
      subject: `Welcome to ${brand}`,
      paragraphs: [
        `Your ${brand} account is ready. With it you create images and videos, over the API or from an AI assistant.`,
        'Choose a plan, then create an API key or connect an assistant. Your account page leads through these steps.',
      ],
      action: 'Get started',
    }),
    plan_active: ({ plan, credits, next_credits_at: next, renews_at: at }, { number, date, ...formats }) => ({
      subject: `Your ${formats.plan(plan)} plan is active`,
      paragraphs: [
        `Your ${formats.plan(plan)} plan is active and gives you ${number(credits)} credits every month.`,
        `The next credits are granted on ${date(next)}. Unused credits of a month carry over once. The plan renews on ${date(at)}.`,
        'To start, create an API key or connect an assistant.',
      ],
      action: 'Get started',
    }),
    credits_low: ({ balance, threshold }, { brand, number }) => ({
      subject: `Your ${brand} balance is low: ${number(balance)} credits`,
      paragraphs: [
        `Your balance is ${number(balance)} credits, below the threshold of ${number(threshold)} credits.`,
        'Generations that cost more than the balance are rejected. Buy credits, switch automatic top-ups on, or wait for the next monthly grant.',
      ],
      action: 'Buy credits',
    }),
    auto_topup_failed: ({ amount_cents: cents, failure_code: code }, { usd }) => ({
      subject: `Automatic top-up of ${usd(cents)} failed`,
      paragraphs: [
        `An automatic top-up of ${usd(cents)} failed. ${describeTopupReason(code, 'en')}`,
        'You were not charged, and no credits were added. Check your payment method.',
      ],
      action: 'Open billing',
    }),
    auto_topup_disabled: ({ reason }) => ({
      subject: 'Automatic top-ups were switched off',
      paragraphs: [
        `Automatic top-ups were switched off. ${describeTopupReason(reason, 'en')}`,
        'From now on, no credits are bought when the balance is low. Check your payment method, then switch automatic top-ups on again.',
      ],
      action: 'Open billing',
    }),
    payment_failed: ({ plan, spendable_until: until }, formats) => ({
      subject: `Payment for the ${formats.plan(plan)} plan failed`,
      paragraphs: [
        `The payment for your ${formats.plan(plan)} plan failed.`,
        until === null
          ? 'Credits cannot be spent until it is paid.'
          : `You can spend credits until ${formats.dateTime(until)} UTC. If the plan is not paid by then, the subscription ends: unused credits of the plan expire, and bought credits cannot be spent until you choose a plan again.`,
        'Update your payment method in the billing portal to keep the plan.',
      ],
      action: 'Open billing',
    }),
    renewal_upcoming: ({ plan, amount_cents: cents, renews_at: at, has_tax: hasTax }, { usd, date, ...formats }) => ({
      subject: `Your ${formats.plan(plan)} plan renews on ${date(at)}`,
      paragraphs: [
        `Your ${formats.plan(plan)} plan renews on ${date(at)} for another year. The current price of the plan is ${usd(cents)} a year${hasTax ? ', plus tax' : ''}. The charge can differ from it, for example because of a discount, an earlier price, or another plan that you have chosen for the renewal.`,
        'You have nothing to do to keep the plan: your payment method is charged. To change or cancel it, open the billing page before that day.',
      ],
      action: 'Open billing',
    }),
    payout_sent: ({ amount_cents: cents }, { usd }) => ({
      subject: `Payout of ${usd(cents)} sent`,
      paragraphs: [
        `We sent your affiliate payout of ${usd(cents)}.`,
        'It takes some days until it reaches your bank account.',
      ],
      action: 'Open the affiliate page',
    }),
    payout_setup_missing: ({ amount_cents: cents }, { usd }) => ({
      subject: `Set up payouts to receive ${usd(cents)}`,
      paragraphs: [
        `Your commissions of ${usd(cents)} can be paid out, but payouts are not set up.`,
        'Set up payouts to receive them with the next monthly payout.',
      ],
      action: 'Set up payouts',
    }),
    webhook_disabled: ({ url, reason }) => ({
      subject: 'A webhook endpoint was disabled',
      paragraphs: [
        reason === 'gone'
          ? `The webhook endpoint ${url} was disabled, because it responded with 410 Gone.`
          : `The webhook endpoint ${url} was disabled, because all deliveries to it have failed for five days.`,
        'Events are no longer sent to it. Correct the endpoint, then enable it again.',
      ],
      action: 'Open webhooks',
    }),
    key_created: ({ name, prefix, network, user_agent: userAgent }, formats) => ({
      subject: `New API key for your ${formats.brand} account`,
      paragraphs: [
        `The API key “${name}” (${prefix}…) was created.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Otherwise revoke the key, sign out of all sessions, and contact support.`,
      ],
      action: 'Open API keys',
    }),
    application_connected: ({ application, host, network, user_agent: userAgent }, formats) => ({
      subject: `New application connected to your ${formats.brand} account`,
      paragraphs: [
        `The application “${application}” (${host}) was given access to your account.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Otherwise disconnect the application, sign out of all sessions, and contact support.`,
      ],
      action: 'Open applications',
    }),
    new_sign_in: ({ provider, network, user_agent: userAgent }, formats) => ({
      subject: `New sign-in to your ${formats.brand} account`,
      paragraphs: [
        `Your account was signed in to with ${formats.provider(provider)}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Otherwise end the session, check the sign-in methods of your account, and contact support.`,
      ],
      action: 'Open the security log',
    }),
    identity_removed: ({ provider, email, undo_until: until, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.provider(provider)} removed from your ${formats.brand} account`,
      paragraphs: [
        `${formats.provider(provider)} (${email}) was removed as a sign-in method of your account.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Otherwise undo the removal until ${formats.dateTime(until)} UTC. This restores the sign-in method, ends all sessions, removes the sign-in methods, members, invitations, API keys and applications that were added since the sign-in that removed it, and disables the webhook endpoints that were added or changed since then.`,
      ],
      action: 'Undo the removal',
    }),
    member_invited: ({ inviter, account, role, expires_at: at }, { brand, dateTime }) => ({
      subject: `You are invited to an account at ${brand}`,
      paragraphs: [
        `${inviter} invites you to the account of ${account} at ${brand}, with the role ${ROLES[role]}.`,
        `Accept until ${dateTime(at)} UTC: sign in with this e-mail address. If you do not want to join, ignore this message.`,
      ],
      action: 'Accept the invitation',
    }),
    member_removed: ({ account }, { brand }) => ({
      subject: `You were removed from an account at ${brand}`,
      paragraphs: [
        `You are no longer a member of the account of ${account} at ${brand}. Your sessions in it have ended.`,
        'If you have an account of your own, it stays as it is.',
      ],
      action: 'Open your account',
    }),
    member_role_changed: ({ account, role }, { brand }) => ({
      subject: `Your role in an account at ${brand} was changed`,
      paragraphs: [
        `Your role in the account of ${account} at ${brand} is ${ROLES[role]} from now on.`,
        'This applies immediately, also to the API keys and applications that you made.',
      ],
      action: 'Open the account',
    }),
    account_handed_over: ({ owner, network, user_agent: userAgent }, formats) => ({
      subject: `You handed your ${formats.brand} account over`,
      paragraphs: [
        `${owner} is the owner of your account from now on, and receives its messages and payouts. Your role in it is ${ROLES.admin}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} Otherwise contact support.`,
      ],
      action: 'Open the members',
    }),
    account_received: ({ former_owner }, { brand }) => ({
      subject: `You are the owner of an account at ${brand}`,
      paragraphs: [
        `${former_owner} handed an account at ${brand} over to you. You receive its messages and payouts from now on.`,
        'Only you can delete the account or hand it over.',
      ],
      action: 'Open the account',
    }),
  },
};

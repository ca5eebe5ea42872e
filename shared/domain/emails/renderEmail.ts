import type { MailMessage } from '../../gateways/mail/mailTransport.ts';
import { parseBrowserName } from '../../lib/browserName.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { config } from '../../lib/config.ts';
import type { EmailKind } from '../../spec/events.ts';
import type { Account } from '../../tables/Account.ts';
import type { Email } from '../../tables/Email.ts';
import { buildIdentityUndoUrl } from '../signIn/identityUndo.ts';
import type { EmailContent } from './emailParams.ts';
import { type Layout, renderHtml } from './renderHtml.tsx';
import { isSwitchable, NOTIFICATIONS_PATH } from './settings.ts';
import type { EmailTexts, MessageText, TextFormats } from './texts/emailTexts.ts';
import { getEmailTexts } from './texts/index.ts';
import { buildUnsubscribeUrl } from './unsubscribe.ts';

/** A claimed message with the columns of its account that it needs. `leased_until` identifies the claim. */
export type ClaimedEmail = Omit<Email, 'leased_until'> &
  Pick<Account, 'first_name' | 'language' | 'erased_at' | 'email_settings'> & {
    leased_until: Date;
    account_uuid: string;
    address: string;
  };

/** Page that each kind of message links to. The undo of a removed sign-in method has an address of its own. */
const ACTION_PATHS: Record<Exclude<EmailKind, 'identity_removed'>, string> = {
  credits_low: '/account/billing/',
  auto_topup_failed: '/account/billing/',
  auto_topup_disabled: '/account/billing/',
  payment_failed: '/account/billing/',
  renewal_upcoming: '/account/billing/',
  payout_sent: '/account/affiliate/',
  payout_setup_missing: '/account/affiliate/',
  webhook_disabled: '/account/webhooks/',
  key_created: '/account/keys/',
  application_connected: '/account/applications/',
  new_sign_in: '/account/security/',
};

const PROVIDER_TITLES: Record<string, string> = { google: 'Google', apple: 'Apple', github: 'GitHub' };

/** Renders a message in the language of its account, as plain text and as HTML with the same content. */
export function renderEmail(email: ClaimedEmail): MailMessage {
  const { kind, params, account_uuid: accountUuid } = email;
  const texts = getEmailTexts(email.language);
  const content = { kind, params } as unknown as EmailContent;
  const message = writeMessage(content, texts, email.created_at);
  const unsubscribeUrl = isSwitchable(kind) ? buildUnsubscribeUrl({ accountUuid, kind }) : null;
  const links = [
    [texts.settings, config.BASE_URL + NOTIFICATIONS_PATH],
    ...(unsubscribeUrl === null ? [] : [[texts.unsubscribe, unsubscribeUrl]]),
    ...(config.SUPPORT_EMAIL === undefined ? [] : [[texts.support, `mailto:${config.SUPPORT_EMAIL}`]]),
  ] as [label: string, address: string][];
  const layout: Layout = {
    locale: texts.locale,
    subject: toLine(message.subject),
    paragraphs: [texts.greeting(email.first_name), ...message.paragraphs].map(toLine),
    action: [message.action, buildActionUrl(content)],
    reason: unsubscribeUrl === null ? texts.securityReason(config.BRAND_NAME) : texts.reason(config.BRAND_NAME),
    links,
  };
  return {
    to: email.address,
    uuid: email.uuid,
    subject: layout.subject,
    text: renderText(layout),
    html: renderHtml(layout),
    headers: unsubscribeUrl === null ? {} : buildUnsubscribeHeaders(unsubscribeUrl),
  };
}

function buildActionUrl({ kind, params }: EmailContent): string {
  return kind === 'identity_removed' ? buildIdentityUndoUrl(params) : config.BASE_URL + ACTION_PATHS[kind];
}

function writeMessage(content: EmailContent, texts: EmailTexts, createdAt: Date): MessageText {
  const write = texts.messages[content.kind] as (params: object, formats: TextFormats) => MessageText;
  return write(content.params, buildFormats(texts.locale, createdAt));
}

/** Headers for the button that mail programs show beside the sender (RFC 2369 and RFC 8058). */
function buildUnsubscribeHeaders(url: string): Record<string, string> {
  return { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

function buildFormats(locale: string, createdAt: Date): TextFormats {
  // English pages write dates as in Britain and dollars as in the United States.
  const moneyLocale = locale === 'en-GB' ? 'en-US' : locale;
  const date = (time: string) =>
    new Date(time).toLocaleDateString(locale, { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
  return {
    brand: config.BRAND_NAME,
    number: (value) => value.toLocaleString(locale),
    usd: (cents) =>
      new Intl.NumberFormat(moneyLocale, {
        style: 'currency',
        currency: 'USD',
        minimumFractionDigits: cents % 100 === 0 ? 0 : 2,
      }).format(cents / 100),
    date,
    dateTime: (time) => `${date(time)}, ${new Date(time).toISOString().slice(11, 16)}`,
    plan: (slug) => getPlanBySlug(slug).name,
    provider: (name) => PROVIDER_TITLES[name] ?? config.BRAND_NAME,
    browser: parseBrowserName,
    time: createdAt.toISOString(),
  };
}

/** Replaces line breaks and other control characters of names that customers choose. */
function toLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').trim();
}

function renderText({ paragraphs, action, reason, links }: Layout): string {
  const lines = [
    ...paragraphs,
    `${action[0]}: ${action[1]}`,
    '-- ',
    [reason, ...links.map(([label, address]) => `${label}: ${address.replace(/^mailto:/, '')}`)].join('\n'),
  ];
  return `${lines.join('\n\n')}\n`;
}

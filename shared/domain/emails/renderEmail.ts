import type { MailMessage } from '../../gateways/mail/mailTransport.ts';
import { parseBrowserName } from '../../lib/browserName.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { config } from '../../lib/config.ts';
import { formatLocalDate, formatLocalDateTime, formatLocalNumber, formatLocalUsd } from '../../lib/localFormats.ts';
import { type EmailKind, isMemberEmailKind } from '../../spec/events.ts';
import { findLanguage, type Language } from '../../spec/languages.ts';
import type { Account } from '../../tables/Account.ts';
import type { Email } from '../../tables/Email.ts';
import { buildInvitationUrl } from '../members/invitationUrl.ts';
import { buildIdentityUndoUrl } from '../signIn/identityUndo.ts';
import type { EmailContent } from './emailParams.ts';
import { type Layout, renderHtml } from './renderHtml.tsx';
import { isSwitchable, NOTIFICATIONS_PATH } from './settings.ts';
import type { EmailTexts, MessageText, TextFormats } from './texts/emailTexts.ts';
import { EMAIL_TEXTS } from './texts/index.ts';
import { buildUnsubscribeUrl } from './unsubscribe.ts';

/** A message with the columns of its account that it needs. */
export type AddressedEmail = Email &
  Pick<Account, 'first_name' | 'language' | 'erased_at' | 'email_settings'> & { account_uuid: string; address: string };

/**
 * Page that each kind of message links to. An undo of a removed sign-in method and an invitation have addresses of
 * their own.
 */
const ACTION_PATHS: Record<Exclude<EmailKind, 'identity_removed' | 'member_invited'>, string> = {
  welcome: '/account/',
  plan_active: '/account/',
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
  member_removed: '/account/',
  member_role_changed: '/account/',
  account_handed_over: '/account/members/',
  account_received: '/account/',
};

const PROVIDER_TITLES: Record<string, string> = { google: 'Google', apple: 'Apple', github: 'GitHub' };

/** Renders a message in the language of its account, as plain text and as HTML with the same content. */
export function renderEmail(email: AddressedEmail): MailMessage {
  const { kind, params, account_uuid: accountUuid, address } = email;
  const language = findLanguage(email.language);
  const texts = EMAIL_TEXTS[language];
  const content = { kind, params } as unknown as EmailContent;
  const message = writeMessage(content, language, email.created_at);
  const unsubscribeUrl =
    !isMemberEmailKind(kind) && isSwitchable(kind) ? buildUnsubscribeUrl({ accountUuid, email: address, kind }) : null;
  const links = [
    ...(isMemberEmailKind(kind) ? [] : [[texts.settings, config.BASE_URL + NOTIFICATIONS_PATH]]),
    ...(unsubscribeUrl === null ? [] : [[texts.unsubscribe, unsubscribeUrl]]),
    ...(config.SUPPORT_EMAIL === undefined ? [] : [[texts.support, `mailto:${config.SUPPORT_EMAIL}`]]),
  ] as [label: string, address: string][];
  const layout: Layout = {
    language,
    subject: toLine(message.subject),
    paragraphs: [texts.greeting(email.first_name), ...message.paragraphs].map(toLine),
    action: [message.action, buildActionUrl(content)],
    reason: writeReason(kind, texts),
    links,
  };
  return {
    to: address,
    uuid: email.uuid,
    subject: layout.subject,
    text: renderText(layout),
    html: renderHtml(layout),
    headers: unsubscribeUrl === null ? {} : buildUnsubscribeHeaders(unsubscribeUrl),
  };
}

function writeReason(kind: EmailKind, texts: EmailTexts): string {
  if (kind === 'member_invited') return texts.invitationReason(config.BRAND_NAME);
  if (isMemberEmailKind(kind)) return texts.membershipReason(config.BRAND_NAME);
  return isSwitchable(kind) ? texts.reason(config.BRAND_NAME) : texts.securityReason(config.BRAND_NAME);
}

function buildActionUrl({ kind, params }: EmailContent): string {
  if (kind === 'identity_removed') return buildIdentityUndoUrl(params);
  if (kind === 'member_invited') return buildInvitationUrl({ uuid: params.invitation, sent_count: params.sent_count });
  return config.BASE_URL + ACTION_PATHS[kind];
}

function writeMessage(content: EmailContent, language: Language, createdAt: Date): MessageText {
  const write = EMAIL_TEXTS[language].messages[content.kind] as (params: object, formats: TextFormats) => MessageText;
  return write(content.params, buildFormats(language, createdAt));
}

/** Headers for the button that mail programs show beside the sender (RFC 2369 and RFC 8058). */
function buildUnsubscribeHeaders(url: string): Record<string, string> {
  return { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
}

function buildFormats(language: Language, createdAt: Date): TextFormats {
  return {
    brand: config.BRAND_NAME,
    number: (value) => formatLocalNumber(language, value),
    usd: (cents) => formatLocalUsd(language, cents),
    date: (time) => formatLocalDate(language, new Date(time)),
    dateTime: (time) => formatLocalDateTime(language, new Date(time)),
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

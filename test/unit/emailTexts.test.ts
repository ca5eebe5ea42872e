import { expect } from 'chai';
import { t } from '../../api/features/signIn/pages/restore/texts.ts';
import { type AddressedEmail, renderEmail } from '../../shared/domain/emails/renderEmail.ts';
import { EMAIL_KINDS, type EmailKind, MEMBER_EMAIL_KINDS, SECURITY_EMAIL_KINDS } from '../../shared/spec/events.ts';
import { LANGUAGES } from '../../shared/spec/languages.ts';
import { EXAMPLE_PARAMS } from '../harness/emails.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const BASE_URL = 'http://localhost:3000';
const UUID = '01900000-0000-7000-8000-000000000001';

const render = (kind: EmailKind, language = 'en', params: object = EXAMPLE_PARAMS[kind], firstName = '') =>
  renderEmail({
    kind,
    params,
    language,
    first_name: firstName,
    uuid: UUID,
    account_uuid: UUID,
    address: 'ann@example.com',
    created_at: new Date('2027-03-01T08:05:00Z'),
  } as AddressedEmail);

/** Without the tokens in addresses, whose letters can be those of any word. */
const withoutTokens = (content: string) => content.replaceAll(/[\w-]{40,}/g, '');

/** The text without the signature and the token in it. */
const body = (kind: EmailKind, language = 'en') => render(kind, language).text.split('\n\n-- \n\n')[0];

describe('the texts of e-mail messages', () => {
  before(() =>
    setTestConfig({
      BASE_URL,
      BRAND_NAME: 'Pixels & Co',
      BRAND_COLOR: '#7a1f5c',
      SUPPORT_EMAIL: 'help@example.com',
      SECRET_KEY: 'a secret of the tests'.replaceAll(' ', '-'),
    }),
  );

  for (const language of LANGUAGES) {
    for (const kind of [...EMAIL_KINDS, ...MEMBER_EMAIL_KINDS]) {
      it(`${language} ${kind}: no placeholder is left, and text and HTML have the same sentences`, () => {
        const { subject, text, html } = render(kind, language);
        for (const content of [subject, text, html])
          expect(withoutTokens(content)).to.not.match(/undefined|null|NaN|Invalid|\[object|\$\{|[{}]/);
        expect(subject).to.match(/^\S.{8,90}$/);
        const plain = html
          .replaceAll(/<[^>]+>/g, '')
          .replaceAll('&#39;', "'")
          .replaceAll('&lt;', '<');
        const decoded = plain.replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
        for (const paragraph of (text.split('\n\n-- \n\n')[0] as string).split('\n\n').slice(0, -1))
          expect(decoded).to.include(paragraph);
      });
    }
  }

  it('no message is the same in two languages', () => {
    for (const kind of [...EMAIL_KINDS, ...MEMBER_EMAIL_KINDS])
      expect(new Set(LANGUAGES.map((language) => render(kind, language).subject)).size, kind).to.equal(
        LANGUAGES.length,
      );
  });

  it('variants of a language get its texts, and others English', () => {
    const [german, english] = [render('payout_sent', 'de'), render('payout_sent')];
    for (const language of ['de-CH', 'DE']) expect(render('payout_sent', language), language).to.deep.equal(german);
    for (const language of ['pt-BR', 'constructor', '', 'deu'])
      expect(render('payout_sent', language), language).to.deep.equal(english);
    expect(render('payout_sent', 'zh-TW').html).to.include('<html lang="zh-CN">');
  });

  it('English messages read as expected', () => {
    expect(body('renewal_upcoming')).to.equal(
      [
        'Hello,',
        'Your Pro plan renews on 14 Mar 2027 for another year. The current price of the plan is $348 a year. The charge can differ from it, for example because of a discount, an earlier price, or another plan that you have chosen for the renewal.',
        'You have nothing to do to keep the plan: your payment method is charged. To change or cancel it, open the billing page before that day.',
        `Open billing: ${BASE_URL}/account/billing/`,
      ].join('\n\n'),
    );
    expect(render('payment_failed').text).to.include('You can spend credits until 14 Mar 2027, 15:09 UTC.');
    expect(render('payout_sent').subject).to.equal('Payout of $104.44 sent');
    expect(body('new_sign_in')).to.include(
      'Your account was signed in to with GitHub.\n\nTime: 1 Mar 2027, 08:05 UTC. Browser or program: Firefox on Linux. Network: 192.0.2.0/24.',
    );
    expect(body('identity_removed')).to.include('Google (ann@example.com) was removed as a sign-in method');
    expect(body('identity_removed')).to.include('undo the removal until 21 Mar 2027, 15:09 UTC.');
    expect(body('application_connected')).to.include('“An assistant” (assistant.example) was given access');
    expect(render('key_created').subject).to.equal('New API key for your Pixels & Co account');
  });

  it('the message about a removed sign-in method and its page name all that the undo removes', () => {
    const removed = {
      en: ['sign-in methods', 'members', 'invitations', 'API keys', 'applications', 'webhook endpoints'],
      de: ['Anmeldemethoden', 'Mitglieder', 'Einladungen', 'API-Schlüssel', 'Anwendungen', 'Webhook-Endpunkte'],
      fr: ['méthodes de connexion', 'membres', 'invitations', 'clés API', 'applications', 'endpoints de webhook'],
      es: ['métodos de inicio', 'miembros', 'invitaciones', 'claves de API', 'aplicaciones', 'endpoints de webhook'],
      ja: ['ログイン方法', 'メンバー', '招待', 'APIキー', 'アプリケーション', 'Webhookエンドポイント'],
      'zh-CN': ['登录方式', '成员', '邀请', 'API 密钥', '应用', 'Webhook 端点'],
    };
    for (const language of LANGUAGES)
      for (const text of [body('identity_removed', language), t.effect.messages[language]])
        expect(removed[language].filter((name) => text?.includes(name) !== true)).to.deep.equal([]);
  });

  it('German messages read as expected', () => {
    expect(render('credits_low', 'de').subject).to.equal('Ihr Guthaben bei Pixels & Co ist niedrig: 1.050 Credits');
    expect(body('renewal_upcoming', 'de')).to.include('verlängert sich am 14. März 2027 um ein Jahr.');
    expect(body('new_sign_in', 'de')).to.include('Browser oder Programm: Firefox unter Linux.');
    expect(render('payout_sent', 'de').subject.replaceAll(/\s/g, ' ')).to.equal('Auszahlung über 104,44 $ gesendet');
  });

  it('messages have numbers and dates as their language writes them', () => {
    const expected = {
      es: ['Su saldo en Pixels & Co es bajo: 1050 créditos', '14 mar 2027, 15:09 UTC'],
      fr: ['Votre solde Pixels & Co est faible : 1 050 crédits', '14 mars 2027, 15:09 UTC'],
      ja: ['Pixels & Coの残高が少なくなっています: 1,050クレジット', '2027年3月14日 15:09 UTC'],
      'zh-CN': ['您的 Pixels & Co 余额不足：1,050 积分', '2027年3月14日 15:09 UTC'],
    };
    for (const [language, [subject, time]] of Object.entries(expected)) {
      const low = render('credits_low', language).subject;
      expect(low.replaceAll(/[\u00a0\u202f]/g, ' '), language).to.equal(subject);
      expect(render('payment_failed', language).text, language).to.include(time);
    }
  });

  it('taxes and unknown reasons are mentioned where they apply', () => {
    const taxed = render('renewal_upcoming', 'en', { ...EXAMPLE_PARAMS.renewal_upcoming, has_tax: true });
    expect(taxed.text).to.include('is $348 a year, plus tax.');
    const other = render('auto_topup_disabled', 'en', { reason: 'other' });
    expect(other.text).to.include('The payment did not complete.');
    const unpaid = render('payment_failed', 'en', { plan: 'pro', spendable_until: null });
    expect(unpaid.text).to.include('Credits cannot be spent until it is paid.');
  });

  it('names that customers choose are escaped and cannot start a line', () => {
    const { text, html } = render(
      'key_created',
      'en',
      { ...EXAMPLE_PARAMS.key_created, name: 'a\r\nBcc: x@example.com\n\n<img src=x>' },
      '<b>Ann</b>\n',
    );
    expect(text).to.include('“a Bcc: x@example.com <img src=x>”').and.include('Hello <b>Ann</b>');
    expect(html).to.include('&lt;img src=x>').and.include('&lt;b>Ann&lt;/b>');
    expect(html).to.not.match(/<img|<b>/);
  });

  it('HTML has the name and color of the brand, inline styles, and nothing that is loaded', () => {
    const { html } = render('credits_low');
    expect(html).to.include('Pixels &amp; Co').and.include('background:#7a1f5c');
    expect(html).to.not.match(/<style|<script|<img|<link|src=|url\(/);
    const addresses = [...html.matchAll(/href="([^"]+)"/g)].map(([, address = '']) => address);
    for (const address of addresses)
      expect(address.startsWith(`${BASE_URL}/`) || address === 'mailto:help@example.com', address).to.equal(true);
  });

  it('all messages but those about security can be unsubscribed from', () => {
    for (const kind of EMAIL_KINDS) {
      const { headers, text } = render(kind);
      const isSecurity = SECURITY_EMAIL_KINDS.includes(kind);
      expect(Object.keys(headers)).to.deep.equal(isSecurity ? [] : ['List-Unsubscribe', 'List-Unsubscribe-Post']);
      expect(text.includes(`${BASE_URL}/unsubscribe/`)).to.equal(!isSecurity);
    }
  });
});

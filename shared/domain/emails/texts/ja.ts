import type { AssignableRole } from '../../../spec/roles.ts';
import type { EmailTexts, TextFormats } from './emailTexts.ts';
import { describeTopupReason } from './topupReasons.ts';

function describeOrigin({ browser, dateTime, time }: TextFormats, userAgent: string, network: string): string {
  const { name, system } = browser(userAgent);
  const program = `${name ?? '不明'}${system === null ? '' : `（${system}）`}`;
  return `日時: ${dateTime(time)} UTC。ブラウザーまたはプログラム: ${program}。ネットワーク: ${network === '' ? '不明' : network}。`;
}

const NOT_YOU = 'お心当たりがある場合、必要な操作はありません。';

const ROLES: Record<AssignableRole, string> = {
  admin: '管理者',
  developer: '開発者',
  billing: '請求担当',
  viewer: '閲覧者',
};

export const JA: EmailTexts = {
  greeting: (firstName) => (firstName === '' ? 'お客様' : `${firstName} 様`),
  reason: (brand) => `このメールは、${brand}のアカウントをお持ちの方にお送りしています。`,
  securityReason: (brand) =>
    `このメールは、${brand}アカウントのセキュリティに関するお知らせです。セキュリティに関するメールは停止できません。`,
  membershipReason: (brand) =>
    `このメールは、${brand}のアカウントへのアクセスに関するお知らせです。この種類のメールは停止できません。`,
  invitationReason: (brand) =>
    `このメールは、${brand}のアカウントを持つ方があなたのアドレスを入力したためにお送りしています。お心当たりがない場合は無視してください。`,
  settings: '通知設定',
  unsubscribe: 'この種類のメールを停止',
  support: 'サポートに問い合わせる',
  messages: {
    welcome: (_params, { brand }) => ({
      subject: `${brand}へようこそ、登録が完了しました`,
      paragraphs: [
        `${brand}のアカウントをご利用いただけるようになりました。APIやAIアシスタントから画像と動画を作成できます。`,
        'プランを選択し、APIキーを作成するかアシスタントを接続してください。手順はアカウントページでご案内しています。',
      ],
      action: '始める',
    }),
    plan_active: ({ plan, credits, next_credits_at: next, renews_at: at }, { number, date, ...formats }) => ({
      subject: `${formats.plan(plan)}プランが有効になりました`,
      paragraphs: [
        `${formats.plan(plan)}プランが有効になり、毎月${number(credits)}クレジットが付与されます。`,
        `次回のクレジットは${date(next)}に付与されます。使わなかったクレジットは一度だけ翌月に繰り越されます。プランは${date(at)}に更新されます。`,
        'まず、APIキーを作成するかアシスタントを接続してください。',
      ],
      action: '始める',
    }),
    credits_low: ({ balance, threshold }, { brand, number }) => ({
      subject: `${brand}の残高が少なくなっています: ${number(balance)}クレジット`,
      paragraphs: [
        `現在の残高は${number(balance)}クレジットで、しきい値の${number(threshold)}クレジットを下回っています。`,
        '残高を超える料金の生成は拒否されます。クレジットを購入するか、自動チャージを有効にするか、次回の月次付与をお待ちください。',
      ],
      action: 'クレジットを購入',
    }),
    auto_topup_failed: ({ amount_cents: cents, failure_code: code }, { usd }) => ({
      subject: `${usd(cents)}の自動チャージに失敗しました`,
      paragraphs: [
        `${usd(cents)}の自動チャージに失敗しました。${describeTopupReason(code, 'ja')}`,
        '請求は行われず、クレジットも追加されていません。支払い方法をご確認ください。',
      ],
      action: '請求ページを開く',
    }),
    auto_topup_disabled: ({ reason }) => ({
      subject: '自動チャージが無効になりました',
      paragraphs: [
        `自動チャージが無効になりました。${describeTopupReason(reason, 'ja')}`,
        '今後は、残高が少なくなってもクレジットは購入されません。支払い方法をご確認のうえ、自動チャージを再度有効にしてください。',
      ],
      action: '請求ページを開く',
    }),
    payment_failed: ({ plan, spendable_until: until }, formats) => ({
      subject: `${formats.plan(plan)}プランの支払いに失敗しました`,
      paragraphs: [
        `ご利用中の${formats.plan(plan)}プランの支払いに失敗しました。`,
        until === null
          ? '支払いが完了するまで、クレジットは使用できません。'
          : `クレジットは${formats.dateTime(until)} UTCまで使用できます。それまでに支払いが完了しない場合、サブスクリプションは終了します。プランの未使用クレジットは失効し、購入したクレジットは再びプランを選択するまで使用できません。`,
        'プランを継続するには、請求ポータルで支払い方法を更新してください。',
      ],
      action: '請求ページを開く',
    }),
    renewal_upcoming: ({ plan, amount_cents: cents, renews_at: at, has_tax: hasTax }, { usd, date, ...formats }) => ({
      subject: `${formats.plan(plan)}プランは${date(at)}に更新されます`,
      paragraphs: [
        `ご利用中の${formats.plan(plan)}プランは、${date(at)}に1年間更新されます。プランの現在の料金は年額${usd(cents)}${hasTax ? '（税別）' : ''}です。割引、以前の料金、更新時に選択した別のプランなどにより、実際の請求額は異なる場合があります。`,
        'プランを継続する場合、必要な操作はありません。登録済みの支払い方法に請求されます。変更または解約するには、更新日より前に請求ページを開いてください。',
      ],
      action: '請求ページを開く',
    }),
    payout_sent: ({ amount_cents: cents }, { usd }) => ({
      subject: `${usd(cents)}の支払いを送金しました`,
      paragraphs: [`アフィリエイト報酬${usd(cents)}を送金しました。`, '銀行口座に入金されるまで数日かかります。'],
      action: 'アフィリエイトページを開く',
    }),
    payout_setup_missing: ({ amount_cents: cents }, { usd }) => ({
      subject: `${usd(cents)}を受け取るには支払いの設定が必要です`,
      paragraphs: [
        `${usd(cents)}の報酬を支払う準備ができていますが、受け取りの設定が完了していません。`,
        '次回の月次支払いで受け取るには、設定を完了してください。',
      ],
      action: '受け取りを設定',
    }),
    webhook_disabled: ({ url, reason }) => ({
      subject: 'Webhookエンドポイントが無効になりました',
      paragraphs: [
        reason === 'gone'
          ? `Webhookエンドポイント ${url} は、410 Goneを返したため無効になりました。`
          : `Webhookエンドポイント ${url} は、5日間すべての配信に失敗したため無効になりました。`,
        'このエンドポイントにはイベントが送信されません。エンドポイントを修正してから、再度有効にしてください。',
      ],
      action: 'Webhookを開く',
    }),
    key_created: ({ name, prefix, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.brand}アカウントに新しいAPIキーが作成されました`,
      paragraphs: [
        `APIキー「${name}」（${prefix}…）が作成されました。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}お心当たりがない場合は、キーを取り消し、すべてのセッションをログアウトして、サポートにお問い合わせください。`,
      ],
      action: 'APIキーを開く',
    }),
    application_connected: ({ application, host, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.brand}アカウントに新しいアプリケーションが接続されました`,
      paragraphs: [
        `アプリケーション「${application}」（${host}）がアカウントへのアクセスを許可されました。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}お心当たりがない場合は、アプリケーションを切断し、すべてのセッションをログアウトして、サポートにお問い合わせください。`,
      ],
      action: 'アプリケーションを開く',
    }),
    new_sign_in: ({ provider, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.brand}アカウントへの新しいログイン`,
      paragraphs: [
        `${formats.provider(provider)}でアカウントへのログインがありました。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}お心当たりがない場合は、セッションを終了し、アカウントのログイン方法を確認して、サポートにお問い合わせください。`,
      ],
      action: 'セキュリティログを開く',
    }),
    identity_removed: ({ provider, email, undo_until: until, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.provider(provider)}が${formats.brand}アカウントから削除されました`,
      paragraphs: [
        `${formats.provider(provider)}（${email}）がアカウントのログイン方法から削除されました。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}お心当たりがない場合は、${formats.dateTime(until)} UTCまでに削除を取り消してください。ログイン方法が復元され、すべてのセッションが終了し、削除を行ったログイン以降に追加されたログイン方法、メンバー、招待、APIキー、アプリケーションが削除され、追加または変更されたWebhookエンドポイントが無効になります。`,
      ],
      action: '削除を取り消す',
    }),
    member_invited: ({ inviter, account, role, expires_at: at }, { brand, dateTime }) => ({
      subject: `${brand}のアカウントへの招待`,
      paragraphs: [
        `${inviter}さんが、${brand}の${account}のアカウントにあなたを「${ROLES[role]}」として招待しています。`,
        `${dateTime(at)} UTCまでに、このメールアドレスでログインして承諾してください。参加しない場合は、このメールを無視してください。`,
      ],
      action: '招待を承諾する',
    }),
    member_removed: ({ account }, { brand }) => ({
      subject: `${brand}のアカウントから削除されました`,
      paragraphs: [
        `${brand}の${account}のアカウントのメンバーではなくなりました。このアカウントでのセッションは終了しました。`,
        'ご自身のアカウントがある場合、変更はありません。',
      ],
      action: 'アカウントを開く',
    }),
    member_role_changed: ({ account, role }, { brand }) => ({
      subject: `${brand}のアカウントでの役割が変更されました`,
      paragraphs: [
        `${brand}の${account}のアカウントでのあなたの役割は「${ROLES[role]}」になりました。`,
        'この変更は、あなたが作成したAPIキーとアプリケーションにも直ちに適用されます。',
      ],
      action: 'アカウントを開く',
    }),
    account_handed_over: ({ owner, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.brand}アカウントを譲渡しました`,
      paragraphs: [
        `${owner}さんがあなたのアカウントのオーナーになり、メールと支払いを受け取ります。あなたの役割は「${ROLES.admin}」です。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}お心当たりがない場合は、サポートにお問い合わせください。`,
      ],
      action: 'メンバーを開く',
    }),
    account_received: ({ former_owner }, { brand }) => ({
      subject: `${brand}のアカウントのオーナーになりました`,
      paragraphs: [
        `${former_owner}さんが${brand}のアカウントをあなたに譲渡しました。今後、このアカウントのメールと支払いを受け取ります。`,
        'アカウントの削除と譲渡ができるのはあなただけです。',
      ],
      action: 'アカウントを開く',
    }),
  },
};

import type { AssignableRole } from '../../../spec/roles.ts';
import type { EmailTexts, TextFormats } from './emailTexts.ts';
import { describeTopupReason } from './topupReasons.ts';

function describeOrigin({ browser, dateTime, time }: TextFormats, userAgent: string, network: string): string {
  const { name, system } = browser(userAgent);
  const program = `${name ?? '未知'}${system === null ? '' : `（${system}）`}`;
  return `时间：${dateTime(time)} UTC。浏览器或程序：${program}。网络：${network === '' ? '未知' : network}。`;
}

const NOT_YOU = '如果是您本人操作，则无需处理。';

const ROLES: Record<AssignableRole, string> = {
  admin: '管理员',
  developer: '开发者',
  billing: '财务',
  viewer: '查看者',
};

export const ZH_CN: EmailTexts = {
  greeting: (firstName) => (firstName === '' ? '您好：' : `${firstName}，您好：`),
  reason: (brand) => `您收到此邮件是因为您拥有 ${brand} 账户。`,
  securityReason: (brand) => `您收到此邮件是因为它涉及您 ${brand} 账户的安全。安全类邮件无法关闭。`,
  membershipReason: (brand) => `您收到此邮件是因为它涉及您对 ${brand} 某个账户的访问权限。此类邮件无法关闭。`,
  invitationReason: (brand) =>
    `您收到此邮件，是因为有人在 ${brand} 的账户中输入了您的地址。如果您不认识对方，请忽略此邮件。`,
  settings: '通知设置',
  unsubscribe: '不再接收此类邮件',
  support: '联系支持团队',
  messages: {
    welcome: (_params, { brand }) => ({
      subject: `欢迎使用 ${brand}`,
      paragraphs: [
        `您的 ${brand} 账户已准备就绪。您可以通过 API 或 AI 助手创建图片和视频。`,
        '请选择套餐，然后创建 API 密钥或连接助手。账户页面会引导您完成这些步骤。',
      ],
      action: '开始使用',
    }),
    plan_active: ({ plan, credits, next_credits_at: next, renews_at: at }, { number, date, ...formats }) => ({
      subject: `您的 ${formats.plan(plan)} 套餐已生效`,
      paragraphs: [
        `您的 ${formats.plan(plan)} 套餐已生效，每月提供 ${number(credits)} 积分。`,
        `下次积分将于 ${date(next)} 发放。当月未用的积分可结转一次。套餐将于 ${date(at)} 续订。`,
        '请创建 API 密钥或连接助手以开始使用。',
      ],
      action: '开始使用',
    }),
    credits_low: ({ balance, threshold }, { brand, number }) => ({
      subject: `您的 ${brand} 余额不足：${number(balance)} 积分`,
      paragraphs: [
        `您的余额为 ${number(balance)} 积分，低于 ${number(threshold)} 积分的阈值。`,
        '费用超过余额的生成请求会被拒绝。请购买积分、开启自动充值，或等待下次每月发放。',
      ],
      action: '购买积分',
    }),
    auto_topup_failed: ({ amount_cents: cents, failure_code: code }, { usd }) => ({
      subject: `${usd(cents)} 的自动充值失败`,
      paragraphs: [
        `一笔 ${usd(cents)} 的自动充值失败。${describeTopupReason(code, 'zh-CN')}`,
        '未向您收费，也未增加积分。请检查您的付款方式。',
      ],
      action: '打开账单页面',
    }),
    auto_topup_disabled: ({ reason }) => ({
      subject: '自动充值功能已被关闭',
      paragraphs: [
        `自动充值已被关闭。${describeTopupReason(reason, 'zh-CN')}`,
        '从现在起，余额不足时不会再购买积分。请检查您的付款方式，然后重新开启自动充值。',
      ],
      action: '打开账单页面',
    }),
    payment_failed: ({ plan, spendable_until: until }, formats) => ({
      subject: `${formats.plan(plan)} 套餐付款失败`,
      paragraphs: [
        `您的 ${formats.plan(plan)} 套餐付款失败。`,
        until === null
          ? '在完成付款之前无法使用积分。'
          : `您可以使用积分至 ${formats.dateTime(until)} UTC。如果届时仍未付款，订阅将终止：套餐中未使用的积分会过期，购买的积分在您重新选择套餐之前无法使用。`,
        '如需保留套餐，请在账单门户中更新您的付款方式。',
      ],
      action: '打开账单页面',
    }),
    renewal_upcoming: ({ plan, amount_cents: cents, renews_at: at, has_tax: hasTax }, { usd, date, ...formats }) => ({
      subject: `您的 ${formats.plan(plan)} 套餐将于 ${date(at)} 续订`,
      paragraphs: [
        `您的 ${formats.plan(plan)} 套餐将于 ${date(at)} 续订一年。套餐当前价格为每年 ${usd(cents)}${hasTax ? '（不含税）' : ''}。实际扣款可能有所不同，例如因折扣、先前的价格，或您为续订选择了其他套餐。`,
        '如需保留套餐，您无需任何操作，费用将从您的付款方式中扣除。如需更改或取消，请在该日期之前打开账单页面。',
      ],
      action: '打开账单页面',
    }),
    payout_sent: ({ amount_cents: cents }, { usd }) => ({
      subject: `${usd(cents)} 的佣金已发放`,
      paragraphs: [`我们已发放您的联盟推广佣金 ${usd(cents)}。`, '款项需要几天时间才能到达您的银行账户。'],
      action: '打开联盟推广页面',
    }),
    payout_setup_missing: ({ amount_cents: cents }, { usd }) => ({
      subject: `请设置收款以领取 ${usd(cents)}`,
      paragraphs: [`您有 ${usd(cents)} 的佣金可以发放，但尚未设置收款。`, '请设置收款，以便在下次每月发放时领取。'],
      action: '设置收款',
    }),
    webhook_disabled: ({ url, reason }) => ({
      subject: '一个 Webhook 端点已被停用',
      paragraphs: [
        reason === 'gone'
          ? `Webhook 端点 ${url} 返回了 410 Gone，因此已被停用。`
          : `Webhook 端点 ${url} 连续五天投递全部失败，因此已被停用。`,
        '不会再向其发送事件。请修复该端点，然后重新启用。',
      ],
      action: '打开 Webhook 页面',
    }),
    key_created: ({ name, prefix, network, user_agent: userAgent }, formats) => ({
      subject: `您的 ${formats.brand} 账户有新的 API 密钥`,
      paragraphs: [
        `已创建 API 密钥“${name}”（${prefix}…）。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}否则请撤销该密钥、退出所有会话，并联系支持团队。`,
      ],
      action: '打开 API 密钥页面',
    }),
    application_connected: ({ application, host, network, user_agent: userAgent }, formats) => ({
      subject: `有新应用连接到您的 ${formats.brand} 账户`,
      paragraphs: [
        `应用“${application}”（${host}）已获得您账户的访问权限。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}否则请断开该应用、退出所有会话，并联系支持团队。`,
      ],
      action: '打开应用页面',
    }),
    new_sign_in: ({ provider, network, user_agent: userAgent }, formats) => ({
      subject: `您的 ${formats.brand} 账户有新的登录`,
      paragraphs: [
        `有人使用 ${formats.provider(provider)} 登录了您的账户。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}否则请结束该会话、检查账户的登录方式，并联系支持团队。`,
      ],
      action: '打开安全日志',
    }),
    identity_removed: ({ provider, email, undo_until: until, network, user_agent: userAgent }, formats) => ({
      subject: `已从您的 ${formats.brand} 账户移除 ${formats.provider(provider)}`,
      paragraphs: [
        `${formats.provider(provider)}（${email}）已不再是您账户的登录方式。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}否则请在 ${formats.dateTime(until)} UTC 之前撤销移除。届时该登录方式将恢复，所有会话都会结束，自执行移除的那次登录以来添加的登录方式、成员、邀请、API 密钥和应用都会被移除，添加或更改的 Webhook 端点会被停用。`,
      ],
      action: '撤销移除',
    }),
    member_invited: ({ inviter, account, role, expires_at: at }, { brand, dateTime }) => ({
      subject: `邀请您加入 ${brand} 的账户`,
      paragraphs: [
        `${inviter} 邀请您加入 ${account} 在 ${brand} 的账户，角色为${ROLES[role]}。`,
        `请在 ${dateTime(at)} UTC 之前使用此邮箱地址登录并接受邀请。如果您不想加入，请忽略此邮件。`,
      ],
      action: '接受邀请',
    }),
    member_removed: ({ account }, { brand }) => ({
      subject: `您已被移出 ${brand} 的一个账户`,
      paragraphs: [
        `您不再是 ${account} 在 ${brand} 的账户的成员。您在该账户中的会话已结束。`,
        '如果您有自己的账户，它不会受到影响。',
      ],
      action: '打开您的账户',
    }),
    member_role_changed: ({ account, role }, { brand }) => ({
      subject: `您在 ${brand} 一个账户中的角色已更改`,
      paragraphs: [
        `您在 ${account} 的 ${brand} 账户中的角色现为${ROLES[role]}。`,
        '此更改立即生效，也适用于您创建的 API 密钥和应用。',
      ],
      action: '打开账户',
    }),
    account_handed_over: ({ owner, network, user_agent: userAgent }, formats) => ({
      subject: `您已转让您的 ${formats.brand} 账户`,
      paragraphs: [
        `${owner} 现在是您账户的所有者，并接收其邮件和付款。您的角色是${ROLES.admin}。`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU}否则请联系支持团队。`,
      ],
      action: '打开成员页面',
    }),
    account_received: ({ former_owner }, { brand }) => ({
      subject: `您已成为 ${brand} 一个账户的所有者`,
      paragraphs: [
        `${former_owner} 将 ${brand} 的一个账户转让给了您。从现在起，您将接收该账户的邮件和付款。`,
        '只有您可以删除或转让该账户。',
      ],
      action: '打开账户',
    }),
  },
};

import { defineTexts } from './defineTexts.tsx';

/** Texts of the field for a spending limit. */
export const SPENDING = defineTexts({
  maySpend: {
    en: 'May spend at most',
    de: 'Darf höchstens verbrauchen',
    fr: 'Dépense maximale autorisée',
    es: 'Puede gastar como máximo',
    ja: '利用上限',
    'zh-CN': '最多可花费',
  },
  period: { en: 'Period', de: 'Zeitraum', fr: 'Période', es: 'Período', ja: '期間', 'zh-CN': '周期' },
  each: { en: 'Each', de: 'Pro', fr: 'Par', es: 'Por', ja: '期間', 'zh-CN': '每' },
  day: { en: 'day', de: 'Tag', fr: 'jour', es: 'día', ja: '日', 'zh-CN': '天' },
  month: { en: 'month', de: 'Monat', fr: 'mois', es: 'mes', ja: '月', 'zh-CN': '月' },
  total: { en: 'total', de: 'insgesamt', fr: 'total', es: 'total', ja: '合計', 'zh-CN': '总计' },
  hint: {
    en: 'Days and months are UTC. Leave the credits empty for no limit.',
    de: 'Tage und Monate gelten in UTC. Lassen Sie die Credits leer, um kein Limit festzulegen.',
    fr: 'Les jours et les mois sont en UTC. Laissez les crédits vides pour ne fixer aucun plafond.',
    es: 'Los días y meses son en UTC. Deje los créditos vacíos para no fijar un límite.',
    ja: '日と月はUTCです。上限を設けない場合は、クレジットを空欄にしてください。',
    'zh-CN': '日和月以 UTC 计算。积分留空表示不设上限。',
  },
  yourBalance: {
    en: 'Your balance is {credits, number} credits.',
    de: 'Ihr Guthaben beträgt {credits, number} Credits.',
    fr: 'Votre solde est de {credits, number} crédits.',
    es: 'Su saldo es de {credits, number} créditos.',
    ja: '残高は{credits, number}クレジットです。',
    'zh-CN': '您的余额为 {credits, number} 积分。',
  },
  used: {
    en: '{used, plural, one {# of {limit} is used.} other {# of {limit} are used.}}',
    de: '{used, plural, one {# von {limit} ist verbraucht.} other {# von {limit} sind verbraucht.}}',
    fr: '{used, plural, one {# sur {limit} est utilisé.} other {# sur {limit} sont utilisés.}}',
    es: '{used, plural, one {Se ha usado # de {limit}.} other {Se han usado # de {limit}.}}',
    ja: '{limit}のうち{used, plural, other {#}}を使用しました。',
    'zh-CN': '{limit}，已使用 {used, plural, other {#}}。',
  },
  usedUntil: {
    en: '{used, plural, one {# of {limit} is used} other {# of {limit} are used}}; it resets on {time} UTC.',
    de: '{used, plural, one {# von {limit} ist verbraucht} other {# von {limit} sind verbraucht}}; das Limit wird am {time} UTC zurückgesetzt.',
    fr: '{used, plural, one {# sur {limit} est utilisé} other {# sur {limit} sont utilisés}} ; le plafond est réinitialisé le {time} UTC.',
    es: '{used, plural, one {Se ha usado # de {limit}} other {Se han usado # de {limit}}}; el límite se restablece el {time} UTC.',
    ja: '{limit}のうち{used, plural, other {#}}を使用しました。{time} UTCにリセットされます。',
    'zh-CN': '{limit}，已使用 {used, plural, other {#}}；将于 {time} UTC 重置。',
  },
});

/** Spending limits, by their period. */
export const LIMITS = defineTexts({
  day: {
    en: '{credits, plural, one {# credit} other {# credits}} a day',
    de: '{credits, plural, one {# Credit} other {# Credits}} pro Tag',
    fr: '{credits, plural, one {# crédit} other {# crédits}} par jour',
    es: '{credits, plural, one {# crédito} other {# créditos}} al día',
    ja: '1日{credits, plural, other {#}}クレジット',
    'zh-CN': '每天 {credits, plural, other {#}} 积分',
  },
  month: {
    en: '{credits, plural, one {# credit} other {# credits}} a month',
    de: '{credits, plural, one {# Credit} other {# Credits}} pro Monat',
    fr: '{credits, plural, one {# crédit} other {# crédits}} par mois',
    es: '{credits, plural, one {# crédito} other {# créditos}} al mes',
    ja: '1か月{credits, plural, other {#}}クレジット',
    'zh-CN': '每月 {credits, plural, other {#}} 积分',
  },
  total: {
    en: '{credits, plural, one {# credit} other {# credits}} in total',
    de: '{credits, plural, one {# Credit} other {# Credits}} insgesamt',
    fr: '{credits, plural, one {# crédit} other {# crédits}} au total',
    es: '{credits, plural, one {# crédito} other {# créditos}} en total',
    ja: '合計{credits, plural, other {#}}クレジット',
    'zh-CN': '总计 {credits, plural, other {#}} 积分',
  },
});

/** Options of an API key. */
export const KEY_OPTIONS = defineTexts({
  expires: {
    en: 'Expires on {time} UTC.',
    de: 'Läuft am {time} UTC ab.',
    fr: 'Expire le {time} UTC.',
    es: 'Caduca el {time} UTC.',
    ja: '有効期限: {time} UTC。',
    'zh-CN': '到期时间：{time} UTC。',
  },
  limit: {
    en: 'Spending limit: {use}',
    de: 'Ausgabenlimit: {use}',
    fr: 'Plafond de dépenses : {use}',
    es: 'Límite de gasto: {use}',
    ja: '利用上限: {use}',
    'zh-CN': '支出上限：{use}',
  },
  scopes: {
    en: 'Scopes: {scopes}.',
    de: 'Berechtigungen: {scopes}.',
    fr: 'Autorisations : {scopes}.',
    es: 'Permisos: {scopes}.',
    ja: 'スコープ: {scopes}。',
    'zh-CN': '权限范围：{scopes}。',
  },
  models: {
    en: '{count, plural, one {# allowed model} other {# allowed models}}.',
    de: '{count, plural, one {# erlaubtes Modell} other {# erlaubte Modelle}}.',
    fr: '{count, plural, one {# modèle autorisé} other {# modèles autorisés}}.',
    es: '{count, plural, one {# modelo permitido} other {# modelos permitidos}}.',
    ja: '許可されたモデル: {count, plural, other {#}}件。',
    'zh-CN': '允许 {count, plural, other {#}} 个模型。',
  },
  ranges: {
    en: '{count, plural, one {# allowed address range} other {# allowed address ranges}}.',
    de: '{count, plural, one {# erlaubter Adressbereich} other {# erlaubte Adressbereiche}}.',
    fr: '{count, plural, one {# plage d’adresses autorisée} other {# plages d’adresses autorisées}}.',
    es: '{count, plural, one {# rango de direcciones permitido} other {# rangos de direcciones permitidos}}.',
    ja: '許可されたアドレス範囲: {count, plural, other {#}}件。',
    'zh-CN': '允许 {count, plural, other {#}} 个地址范围。',
  },
  unlimited: {
    en: 'Never expires, and may use the whole account.',
    de: 'Läuft nie ab und darf das gesamte Konto nutzen.',
    fr: 'N’expire jamais et peut utiliser l’ensemble du compte.',
    es: 'No caduca nunca y puede usar toda la cuenta.',
    ja: '有効期限はなく、アカウント全体を使用できます。',
    'zh-CN': '永不过期，可使用整个账户。',
  },
  test: {
    en: 'Never expires, and creates test data only.',
    de: 'Läuft nie ab und erstellt nur Testdaten.',
    fr: 'N’expire jamais et ne crée que des données de test.',
    es: 'No caduca nunca y solo crea datos de prueba.',
    ja: '有効期限はなく、テストデータのみを作成します。',
    'zh-CN': '永不过期，仅创建测试数据。',
  },
});

import { defineTexts } from './defineTexts.tsx';

/** Texts of the field for a spending limit. */
export const SPENDING = defineTexts({
  maySpend: {
    en: 'It may spend at most',
    de: 'Höchstens verbrauchen darf sie',
    fr: 'Dépense maximale autorisée',
    es: 'Puede gastar como máximo',
    ja: '利用上限',
    'zh-CN': '最多可花费',
  },
  credits: { en: 'Credits', de: 'Credits', fr: 'Crédits', es: 'Créditos', ja: 'クレジット', 'zh-CN': '积分' },
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

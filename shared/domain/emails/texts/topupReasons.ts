import type { Language } from '../../../spec/languages.ts';

/** Reasons of a failed or disabled automatic top-up, by code: in messages and on pages. */
export const TOPUP_REASONS = {
  authentication_required: {
    en: 'Your bank asked for your confirmation, which an automatic payment cannot give.',
    de: 'Ihre Bank hat eine Bestätigung verlangt, die bei einer automatischen Zahlung nicht möglich ist.',
    fr: 'Votre banque a demandé une confirmation, ce qui est impossible lors d’un paiement automatique.',
    es: 'Su banco pidió una confirmación, que no es posible en un pago automático.',
    ja: '銀行から本人確認を求められましたが、自動支払いでは確認できません。',
    'zh-CN': '您的银行要求您确认付款，而自动付款无法进行确认。',
  },
  address_required: {
    en: 'Your billing address is missing, which is needed for tax. Buy credits once to enter it.',
    de: 'Ihre Rechnungsadresse fehlt. Sie wird für die Berechnung der Steuer benötigt: Kaufen Sie einmal Credits, um sie anzugeben.',
    fr: 'Votre adresse de facturation, nécessaire au calcul des taxes, est manquante. Achetez des crédits une fois pour la saisir.',
    es: 'Falta su dirección de facturación, necesaria para calcular los impuestos. Compre créditos una vez para introducirla.',
    ja: '税金の計算に必要な請求先住所が登録されていません。一度クレジットを購入して入力してください。',
    'zh-CN': '缺少计税所需的账单地址。请购买一次积分以填写地址。',
  },
  declined: {
    en: 'Your card was declined.',
    de: 'Ihre Karte wurde abgelehnt.',
    fr: 'Votre carte a été refusée.',
    es: 'Su tarjeta fue rechazada.',
    ja: 'カードが拒否されました。',
    'zh-CN': '您的银行卡被拒绝。',
  },
  disputed: {
    en: 'An automatic payment was disputed with your bank.',
    de: 'Eine automatische Zahlung wurde bei Ihrer Bank beanstandet.',
    fr: 'Un paiement automatique a été contesté auprès de votre banque.',
    es: 'Un pago automático se disputó con su banco.',
    ja: '自動支払いについて銀行に異議が申し立てられました。',
    'zh-CN': '一笔自动付款已在您的银行被提出争议。',
  },
  other: {
    en: 'The payment did not complete.',
    de: 'Die Zahlung wurde nicht abgeschlossen.',
    fr: 'Le paiement n’a pas abouti.',
    es: 'El pago no se completó.',
    ja: '支払いが完了しませんでした。',
    'zh-CN': '付款未完成。',
  },
} as const satisfies Record<string, Record<Language, string>>;

/** Returns the sentence for a code. */
export function describeTopupReason(code: string | null, language: Language): string {
  const reasons: Partial<Record<string, Record<Language, string>>> = TOPUP_REASONS;
  return (reasons[code ?? ''] ?? TOPUP_REASONS.other)[language];
}

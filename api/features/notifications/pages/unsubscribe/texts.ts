import { defineTexts } from '../../../../web/defineTexts.tsx';

export const t = defineTexts({
  unsubscribe: {
    en: 'Unsubscribe',
    de: 'Abbestellen',
    fr: 'Se désabonner',
    es: 'Cancelar la suscripción',
    ja: '配信停止',
    'zh-CN': '退订',
  },
  question: {
    en: 'Stop messages of this kind: “{kind}”?',
    de: 'Nachrichten dieser Art nicht mehr senden: „{kind}“?',
    fr: 'Ne plus recevoir ce type de messages : « {kind} » ?',
    es: '¿Dejar de recibir mensajes de este tipo: «{kind}»?',
    ja: 'この種類のメールを停止しますか: 「{kind}」',
    'zh-CN': '要停止接收此类邮件吗：“{kind}”？',
  },
  allSettings: {
    en: 'All notification settings',
    de: 'Alle Benachrichtigungseinstellungen',
    fr: 'Tous les paramètres de notification',
    es: 'Toda la configuración de notificaciones',
    ja: 'すべての通知設定',
    'zh-CN': '所有通知设置',
  },
  unsubscribed: {
    en: 'Unsubscribed',
    de: 'Abbestellt',
    fr: 'Désabonnement effectué',
    es: 'Suscripción cancelada',
    ja: '配信を停止しました',
    'zh-CN': '已退订',
  },
  unsubscribedSentence: {
    en: 'You no longer receive messages of this kind: “{kind}”.',
    de: 'Sie erhalten keine Nachrichten dieser Art mehr: „{kind}“.',
    fr: 'Vous ne recevez plus ce type de messages : « {kind} ».',
    es: 'Ya no recibe mensajes de este tipo: «{kind}».',
    ja: 'この種類のメールは今後送信されません: 「{kind}」。',
    'zh-CN': '您将不再收到此类邮件：“{kind}”。',
  },
});

import { defineTexts } from '../../../../web/defineTexts.tsx';

export const t = defineTexts({
  notifications: {
    en: 'Notifications',
    de: 'Benachrichtigungen',
    fr: 'Notifications',
    es: 'Notificaciones',
    ja: '通知',
    'zh-CN': '通知',
  },
  choose: {
    en: 'Choose which messages you receive by e-mail, and below which balance your credits are low.',
    de: 'Wählen Sie, welche Nachrichten Sie per E-Mail erhalten und ab wann Ihr Guthaben als niedrig gilt.',
    fr: 'Choisissez les messages que vous recevez par e-mail et le seuil en dessous duquel votre solde est faible.',
    es: 'Elija qué mensajes recibe por correo electrónico y por debajo de qué saldo sus créditos son bajos.',
    ja: 'メールで受け取る通知と、残高不足とみなすクレジット数を選択します。',
    'zh-CN': '选择通过电子邮件接收哪些消息，以及余额低于多少时视为不足。',
  },
  notificationSettings: {
    en: 'Notification settings',
    de: 'Benachrichtigungen einstellen',
    fr: 'Paramètres de notification',
    es: 'Configuración de notificaciones',
    ja: '通知設定',
    'zh-CN': '通知设置',
  },
});

import { defineTexts } from '../../../../web/defineTexts.tsx';

export const t = defineTexts({
  question: {
    en: 'Restore {provider}?',
    de: '{provider} wiederherstellen?',
    fr: 'Rétablir {provider} ?',
    es: '¿Restablecer {provider}?',
    ja: '{provider}を復元しますか?',
    'zh-CN': '要恢复 {provider} 吗？',
  },
  effect: {
    en: '{provider} ({email}) becomes a sign-in method of the account again. All sessions end. The sign-in methods, members, invitations, API keys and applications that were added since the sign-in that removed it are removed, and the webhook endpoints that were added or changed since then are disabled.',
    de: '{provider} ({email}) wird wieder eine Anmeldemethode des Kontos. Alle Sitzungen enden. Die Anmeldemethoden, Mitglieder, Einladungen, API-Schlüssel und Anwendungen, die seit der Anmeldung hinzugekommen sind, mit der {provider} entfernt wurde, werden entfernt, und die seitdem hinzugefügten oder geänderten Webhook-Endpunkte werden deaktiviert.',
    fr: '{provider} ({email}) redevient une méthode de connexion du compte. Toutes les sessions prennent fin. Les méthodes de connexion, membres, invitations, clés API et applications ajoutés depuis la connexion qui l’a supprimé sont retirés, et les endpoints de webhook ajoutés ou modifiés depuis lors sont désactivés.',
    es: '{provider} ({email}) vuelve a ser un método de inicio de sesión de la cuenta. Se cierran todas las sesiones. Los métodos de inicio de sesión, los miembros, las invitaciones, las claves de API y las aplicaciones añadidos desde el inicio de sesión que lo eliminó se eliminan, y los endpoints de webhook añadidos o modificados desde entonces se desactivan.',
    ja: '{provider}（{email}）が再びアカウントのログイン方法になります。すべてのセッションが終了します。削除を行ったログイン以降に追加されたログイン方法、メンバー、招待、APIキー、アプリケーションは削除され、追加または変更されたWebhookエンドポイントは無効になります。',
    'zh-CN':
      '{provider}（{email}）将重新成为账户的登录方式。所有会话都会结束。自执行移除的那次登录以来添加的登录方式、成员、邀请、API 密钥和应用将被移除，添加或更改的 Webhook 端点将被停用。',
  },
  restore: {
    en: 'Restore',
    de: 'Wiederherstellen',
    fr: 'Rétablir',
    es: 'Restablecer',
    ja: '復元',
    'zh-CN': '恢复',
  },
  restored: {
    en: 'Sign-in method restored',
    de: 'Anmeldemethode wiederhergestellt',
    fr: 'Méthode de connexion rétablie',
    es: 'Método de inicio de sesión restablecido',
    ja: 'ログイン方法を復元しました',
    'zh-CN': '登录方式已恢复',
  },
  restoredSentence: {
    en: '{provider} is a sign-in method of the account again, and all sessions have ended.',
    de: '{provider} ist wieder eine Anmeldemethode des Kontos, und alle Sitzungen sind beendet.',
    fr: '{provider} est de nouveau une méthode de connexion du compte, et toutes les sessions ont pris fin.',
    es: '{provider} vuelve a ser un método de inicio de sesión de la cuenta, y se han cerrado todas las sesiones.',
    ja: '{provider}は再びアカウントのログイン方法になり、すべてのセッションが終了しました。',
    'zh-CN': '{provider} 已重新成为账户的登录方式，所有会话均已结束。',
  },
  checkLog: {
    en: 'Sign in and check the security log',
    de: 'Anmelden und Sicherheitsprotokoll prüfen',
    fr: 'Se connecter et vérifier le journal de sécurité',
    es: 'Iniciar sesión y revisar el registro de seguridad',
    ja: 'ログインしてセキュリティログを確認',
    'zh-CN': '登录并查看安全日志',
  },
});

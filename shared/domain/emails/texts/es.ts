import type { AssignableRole } from '../../../spec/roles.ts';
import type { EmailTexts, TextFormats } from './emailTexts.ts';
import { describeTopupReason } from './topupReasons.ts';

function describeOrigin({ browser, dateTime, time }: TextFormats, userAgent: string, network: string): string {
  const { name, system } = browser(userAgent);
  const program = `${name ?? 'desconocido'}${system === null ? '' : ` en ${system}`}`;
  return `Hora: ${dateTime(time)} UTC. Navegador o programa: ${program}. Red: ${network === '' ? 'desconocida' : network}.`;
}

const NOT_YOU = 'Si fue usted, no tiene que hacer nada.';

const ROLES: Record<AssignableRole, string> = {
  admin: 'administrador',
  developer: 'desarrollador',
  billing: 'facturación',
  viewer: 'lector',
};

export const ES: EmailTexts = {
  greeting: (firstName) => (firstName === '' ? 'Hola:' : `Hola, ${firstName}:`),
  reason: (brand) => `Recibe este mensaje porque tiene una cuenta en ${brand}.`,
  securityReason: (brand) =>
    `Recibe este mensaje porque afecta a la seguridad de su cuenta en ${brand}. Los mensajes de seguridad no se pueden desactivar.`,
  membershipReason: (brand) =>
    `Recibe este mensaje porque afecta a su acceso a una cuenta de ${brand}. Estos mensajes no se pueden desactivar.`,
  invitationReason: (brand) =>
    `Recibe este mensaje porque alguien con una cuenta en ${brand} ha introducido su dirección. Ignórelo si no conoce a esa persona.`,
  settings: 'Configuración de notificaciones',
  unsubscribe: 'Dejar de recibir estos mensajes',
  support: 'Contactar con el soporte',
  messages: {
    welcome: (_params, { brand }) => ({
      subject: `Le damos la bienvenida a ${brand}`,
      paragraphs: [
        `Su cuenta de ${brand} está lista. Con ella puede crear imágenes y vídeos, mediante la API o desde un asistente de IA.`,
        'Elija un plan y después cree una clave de API o conecte un asistente. La página de su cuenta le guía por estos pasos.',
      ],
      action: 'Empezar',
    }),
    plan_active: ({ plan, credits, next_credits_at: next, renews_at: at }, { number, date, ...formats }) => ({
      subject: `Su plan ${formats.plan(plan)} está activo`,
      paragraphs: [
        `Su plan ${formats.plan(plan)} está activo y le da ${number(credits)} créditos cada mes.`,
        `Los próximos créditos se asignan el ${date(next)}. Los créditos no usados de un mes se conservan un mes más. El plan se renueva el ${date(at)}.`,
        'Para empezar, cree una clave de API o conecte un asistente.',
      ],
      action: 'Empezar',
    }),
    credits_low: ({ balance, threshold }, { brand, number }) => ({
      subject: `Su saldo en ${brand} es bajo: ${number(balance)} créditos`,
      paragraphs: [
        `Su saldo es de ${number(balance)} créditos, por debajo del umbral de ${number(threshold)} créditos.`,
        'Se rechazan las generaciones que cuestan más que el saldo. Compre créditos, active la recarga automática o espere a la próxima asignación mensual.',
      ],
      action: 'Comprar créditos',
    }),
    auto_topup_failed: ({ amount_cents: cents, failure_code: code }, { usd }) => ({
      subject: `La recarga automática de ${usd(cents)} ha fallado`,
      paragraphs: [
        `Una recarga automática de ${usd(cents)} ha fallado. ${describeTopupReason(code, 'es')}`,
        'No se le ha cobrado nada ni se han añadido créditos. Compruebe su método de pago.',
      ],
      action: 'Abrir facturación',
    }),
    auto_topup_disabled: ({ reason }) => ({
      subject: 'Se ha desactivado la recarga automática',
      paragraphs: [
        `Se ha desactivado la recarga automática. ${describeTopupReason(reason, 'es')}`,
        'A partir de ahora no se compran créditos cuando el saldo es bajo. Compruebe su método de pago y vuelva a activar la recarga automática.',
      ],
      action: 'Abrir facturación',
    }),
    payment_failed: ({ plan, spendable_until: until }, formats) => ({
      subject: `El pago del plan ${formats.plan(plan)} ha fallado`,
      paragraphs: [
        `El pago de su plan ${formats.plan(plan)} ha fallado.`,
        until === null
          ? 'No se pueden usar créditos hasta que se pague.'
          : `Puede usar sus créditos hasta el ${formats.dateTime(until)} UTC. Si el plan no se paga antes, la suscripción termina: los créditos no usados del plan caducan y los créditos comprados no se pueden usar hasta que vuelva a elegir un plan.`,
        'Para conservar el plan, actualice su método de pago en el portal de facturación.',
      ],
      action: 'Abrir facturación',
    }),
    renewal_upcoming: ({ plan, amount_cents: cents, renews_at: at, has_tax: hasTax }, { usd, date, ...formats }) => ({
      subject: `Su plan ${formats.plan(plan)} se renueva el ${date(at)}`,
      paragraphs: [
        `Su plan ${formats.plan(plan)} se renueva el ${date(at)} por un año más. El precio actual del plan es de ${usd(cents)} al año${hasTax ? ', más impuestos' : ''}. El importe cobrado puede ser distinto, por ejemplo por un descuento, un precio anterior u otro plan que haya elegido para la renovación.`,
        'Para conservar el plan no tiene que hacer nada: se cobra a su método de pago. Para cambiarlo o cancelarlo, abra la página de facturación antes de ese día.',
      ],
      action: 'Abrir facturación',
    }),
    payout_sent: ({ amount_cents: cents }, { usd }) => ({
      subject: `Pago de ${usd(cents)} enviado`,
      paragraphs: [
        `Hemos enviado su pago de afiliado de ${usd(cents)}.`,
        'Tarda unos días en llegar a su cuenta bancaria.',
      ],
      action: 'Abrir la página de afiliados',
    }),
    payout_setup_missing: ({ amount_cents: cents }, { usd }) => ({
      subject: `Configure los pagos para recibir ${usd(cents)}`,
      paragraphs: [
        `Sus comisiones de ${usd(cents)} se pueden pagar, pero los pagos no están configurados.`,
        'Configure los pagos para recibirlas con el próximo pago mensual.',
      ],
      action: 'Configurar pagos',
    }),
    webhook_disabled: ({ url, reason }) => ({
      subject: 'Se ha desactivado un endpoint de webhook',
      paragraphs: [
        reason === 'gone'
          ? `El endpoint de webhook ${url} se ha desactivado porque respondió con 410 Gone.`
          : `El endpoint de webhook ${url} se ha desactivado porque todos los envíos han fallado durante cinco días.`,
        'Ya no se le envían eventos. Corrija el endpoint y vuelva a activarlo.',
      ],
      action: 'Abrir webhooks',
    }),
    key_created: ({ name, prefix, network, user_agent: userAgent }, formats) => ({
      subject: `Nueva clave de API para su cuenta de ${formats.brand}`,
      paragraphs: [
        `Se ha creado la clave de API «${name}» (${prefix}…).`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} De lo contrario, revoque la clave, cierre todas las sesiones y contacte con el soporte.`,
      ],
      action: 'Abrir claves de API',
    }),
    application_connected: ({ application, host, network, user_agent: userAgent }, formats) => ({
      subject: `Nueva aplicación conectada a su cuenta de ${formats.brand}`,
      paragraphs: [
        `La aplicación «${application}» (${host}) ha obtenido acceso a su cuenta.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} De lo contrario, desconecte la aplicación, cierre todas las sesiones y contacte con el soporte.`,
      ],
      action: 'Abrir aplicaciones',
    }),
    new_sign_in: ({ provider, network, user_agent: userAgent }, formats) => ({
      subject: `Nuevo inicio de sesión en su cuenta de ${formats.brand}`,
      paragraphs: [
        `Se ha iniciado sesión en su cuenta con ${formats.provider(provider)}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} De lo contrario, cierre la sesión, revise los métodos de inicio de sesión de su cuenta y contacte con el soporte.`,
      ],
      action: 'Abrir el registro de seguridad',
    }),
    identity_removed: ({ provider, email, undo_until: until, network, user_agent: userAgent }, formats) => ({
      subject: `${formats.provider(provider)} eliminado de su cuenta de ${formats.brand}`,
      paragraphs: [
        `${formats.provider(provider)} (${email}) se ha eliminado como método de inicio de sesión de su cuenta.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} De lo contrario, deshaga la eliminación antes del ${formats.dateTime(until)} UTC. Así se restablece el método de inicio de sesión, se cierran todas las sesiones, se eliminan los métodos de inicio de sesión, los miembros, las invitaciones, las claves de API y las aplicaciones añadidos desde el inicio de sesión que lo eliminó, y se desactivan los endpoints de webhook añadidos o modificados desde entonces.`,
      ],
      action: 'Deshacer la eliminación',
    }),
    member_invited: ({ inviter, account, role, expires_at: at }, { brand, dateTime }) => ({
      subject: `Invitación a una cuenta de ${brand}`,
      paragraphs: [
        `${inviter} le invita a la cuenta de ${account} en ${brand}, con el rol ${ROLES[role]}.`,
        `Acepte antes del ${dateTime(at)} UTC: inicie sesión con esta dirección de correo. Si no desea unirse, ignore este mensaje.`,
      ],
      action: 'Aceptar la invitación',
    }),
    member_removed: ({ account }, { brand }) => ({
      subject: `Se le ha quitado de una cuenta de ${brand}`,
      paragraphs: [
        `Ya no es miembro de la cuenta de ${account} en ${brand}. Sus sesiones en ella se han cerrado.`,
        'Si tiene una cuenta propia, permanece igual.',
      ],
      action: 'Abrir su cuenta',
    }),
    member_role_changed: ({ account, role }, { brand }) => ({
      subject: `Su rol en una cuenta de ${brand} ha cambiado`,
      paragraphs: [
        `Su rol en la cuenta de ${account} en ${brand} es ahora ${ROLES[role]}.`,
        'Se aplica de inmediato, también a las claves de API y aplicaciones que ha creado.',
      ],
      action: 'Abrir la cuenta',
    }),
    account_handed_over: ({ owner, network, user_agent: userAgent }, formats) => ({
      subject: `Ha cedido su cuenta de ${formats.brand}`,
      paragraphs: [
        `${owner} es ahora propietario de su cuenta y recibe sus mensajes y pagos. Su rol en ella es ${ROLES.admin}.`,
        describeOrigin(formats, userAgent, network),
        `${NOT_YOU} De lo contrario, contacte con el soporte.`,
      ],
      action: 'Abrir los miembros',
    }),
    account_received: ({ former_owner }, { brand }) => ({
      subject: `Usted es propietario de una cuenta de ${brand}`,
      paragraphs: [
        `${former_owner} le ha cedido una cuenta de ${brand}. A partir de ahora recibe sus mensajes y pagos.`,
        'Solo usted puede eliminar o ceder la cuenta.',
      ],
      action: 'Abrir la cuenta',
    }),
  },
};

import { redirectTo } from '../../../pipeline/redirect.ts';
import { actionRoutes, type HttpRoute } from '../../../pipeline/route.ts';
import * as members from './handler.tsx';
import { renderMembersPage } from './view.tsx';

// biome-ignore format: aligned columns.
export const MEMBERS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/members/',                               'page', 'session', 'account',   'none', renderMembersPage, { needs: 'viewMembers' }],
  ['POST',    '/account/members/',                               'page', 'session', 'account',   'form', members.invite, { needs: 'manageMembers', recentSignIn: true }],
  ...actionRoutes('/account/members/invitations/:uuid/resend/', members.resend, { needs: 'manageMembers', recentSignIn: true }),
  ...actionRoutes('/account/members/invitations/:uuid/revoke/', members.revoke, { needs: 'manageMembers' }),
  ...actionRoutes('/account/members/leave/', members.leave, { needs: 'actForOneself', recentSignIn: true }),
  ['GET',     '/account/members/:uuid/',                         'page', 'session', 'account',   'none', members.showMemberPage, { needs: 'manageMembers', recentSignIn: true }],
  ['POST',    '/account/members/:uuid/',                         'page', 'session', 'account',   'form', members.saveMember, { needs: 'manageMembers', recentSignIn: true }],
  ...actionRoutes('/account/members/:uuid/remove/', members.remove, { needs: 'manageMembers', recentSignIn: true }),
  ...actionRoutes('/account/members/:uuid/revoke-access/', members.revokeAccess, { needs: 'manageMembers', recentSignIn: true }),
  ...actionRoutes('/account/members/:uuid/hand-over/', members.handOver, { needs: 'own', recentSignIn: true }),
  ...actionRoutes('/account/invitations/:token/', members.invitation, { needs: 'actForOneself' }),
  ['POST',    '/account/switch/',                                'page', 'session', 'account',   'form', members.submitSwitch, { needs: 'actForOneself', duringDeletion: true }],
  ['GET',     '/account/switch/',                                'page', 'session', 'account',   'none', redirectTo('/account/'), { needs: 'actForOneself', duringDeletion: true }],
];

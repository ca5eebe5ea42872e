import { redirectTo } from '../../../pipeline/redirect.ts';
import type { HttpRoute } from '../../../pipeline/route.ts';
import * as members from './handler.tsx';

// biome-ignore format: aligned columns.
export const MEMBERS_PAGES: readonly HttpRoute[] = [
  ['GET',     '/account/members/',                               'page', 'session', 'account',   'none', members.showMembersPage, { needs: 'viewMembers' }],
  ['POST',    '/account/members/',                               'page', 'session', 'account',   'form', members.invite, { needs: 'manageMembers', recentSignIn: true }],
  ['POST',    '/account/members/invitations/:uuid/resend/',      'page', 'session', 'account',   'form', members.resend.submit, { needs: 'manageMembers', recentSignIn: true }],
  ['GET',     '/account/members/invitations/:uuid/resend/',      'page', 'session', 'account',   'none', members.resend.confirm, { needs: 'manageMembers', recentSignIn: true }],
  ['POST',    '/account/members/invitations/:uuid/revoke/',      'page', 'session', 'account',   'form', members.revoke.submit, { needs: 'manageMembers' }],
  ['GET',     '/account/members/invitations/:uuid/revoke/',      'page', 'session', 'account',   'none', members.revoke.confirm, { needs: 'manageMembers' }],
  ['GET',     '/account/members/leave/',                         'page', 'session', 'account',   'none', members.leave.confirm, { needs: 'actForOneself', recentSignIn: true }],
  ['POST',    '/account/members/leave/',                         'page', 'session', 'account',   'form', members.leave.submit, { needs: 'actForOneself', recentSignIn: true }],
  ['GET',     '/account/members/:uuid/',                         'page', 'session', 'account',   'none', members.showMemberPage, { needs: 'manageMembers', recentSignIn: true }],
  ['POST',    '/account/members/:uuid/',                         'page', 'session', 'account',   'form', members.saveMember, { needs: 'manageMembers', recentSignIn: true }],
  ['GET',     '/account/members/:uuid/remove/',                  'page', 'session', 'account',   'none', members.remove.confirm, { needs: 'manageMembers', recentSignIn: true }],
  ['POST',    '/account/members/:uuid/remove/',                  'page', 'session', 'account',   'form', members.remove.submit, { needs: 'manageMembers', recentSignIn: true }],
  ['GET',     '/account/members/:uuid/revoke-access/',           'page', 'session', 'account',   'none', members.revokeAccess.confirm, { needs: 'manageMembers', recentSignIn: true }],
  ['POST',    '/account/members/:uuid/revoke-access/',           'page', 'session', 'account',   'form', members.revokeAccess.submit, { needs: 'manageMembers', recentSignIn: true }],
  ['GET',     '/account/members/:uuid/hand-over/',               'page', 'session', 'account',   'none', members.handOver.confirm, { needs: 'own', recentSignIn: true }],
  ['POST',    '/account/members/:uuid/hand-over/',               'page', 'session', 'account',   'form', members.handOver.submit, { needs: 'own', recentSignIn: true }],
  ['GET',     '/account/invitations/:token/',                    'page', 'session', 'account',   'none', members.invitation.confirm, { needs: 'actForOneself' }],
  ['POST',    '/account/invitations/:token/',                    'page', 'session', 'account',   'form', members.invitation.submit, { needs: 'actForOneself' }],
  ['POST',    '/account/switch/',                                'page', 'session', 'account',   'form', members.submitSwitch, { needs: 'actForOneself', duringDeletion: true }],
  ['GET',     '/account/switch/',                                'page', 'session', 'account',   'none', redirectTo('/account/'), { needs: 'actForOneself', duringDeletion: true }],
];

import type { PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk'
import type { ApprovalAnswer, ApprovalRequestEvent } from 'millrace'
import type { CallView } from 'millrace/view'
import { foldPath } from '../permission/path-pattern.ts'
import { whyProtected } from '../permission/protected.ts'
import { callFields, callTitle, diffsOf, shownAs } from './call-update.ts'

/** What an editor asks its user about a call, or a call of its sub-agent. */
export function permissionQuestion(call: CallView, request: ApprovalRequestEvent) {
  const fields = callFields(call, false)
  const { reason, remember, display, budget } = request
  const isInner = request.callId !== call.callId && !budget
  const toolCall: ToolCallUpdate = {
    ...fields,
    ...(isInner && {
      title: display?.title ?? callTitle(request.name, request.input),
      rawInput: request.input,
      ...shownAs(display),
    }),
    content: [
      ...(reason ? [{ type: 'content' as const, content: { type: 'text' as const, text: reason } }] : []),
      ...diffsOf(display),
    ],
  }
  const rules = remember?.rules.join(', ')
  const options: PermissionOption[] = [
    { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
    ...(remember?.for ?? []).map((how) => ({
      optionId: how,
      name: how === 'thread' ? `Allow in this session: ${rules}` : `Always allow: ${rules}`,
      kind: 'allow_always' as const,
    })),
    { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
  ]
  return { toolCall, options }
}

/** What the user's choice means. */
export function answerOf(optionId: string): ApprovalAnswer {
  if (optionId === 'thread' || optionId === 'always') return { approved: true, remember: optionId }
  return optionId === 'allow' ? { approved: true } : { approved: false, reason: 'the user denied' }
}

/**
 * Whether a request is only about ordinary files of the workspace, and was made because no rule of the
 * agent says anything about them: what is asked about on purpose is still asked.
 */
export function isPlainEdit({ remember, permission }: ApprovalRequestEvent): boolean {
  if (!remember || permission?.rule !== 'otherwise ask') return false
  return remember.rules.every((rule) => {
    const [, path] = /^(?:read|write)\((?![/~])(.*)\)$/.exec(rule) ?? []
    return path !== undefined && !foldPath(path).split('/').some(whyProtected)
  })
}

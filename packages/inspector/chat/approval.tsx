import type { ApprovalView, CallView } from 'millrace/view'
import { limitText } from 'millrace/view'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import './approval.css'
import { ApprovalRequest } from './approval-request.tsx'
import { BudgetForm, budgetDecision } from './budget-form.tsx'
import { isFinal } from './call-state.ts'
import { ResultForm } from './result-form.tsx'
import { rememberLabels, stateLabels } from './strings.ts'

export interface ApprovalProps {
  readonly approval: ApprovalView
  readonly call: CallView
  /** Absent if it can no longer be decided. */
  readonly session: Session | undefined
}

export interface ApprovalRequestProps {
  readonly request: ApprovalView['request']
  readonly call: CallView
  readonly session: Session
}

/** The approval of a call: a form, or the decision once a user has made it, here or elsewhere. */
export function ApprovalForm({ approval, call, session }: ApprovalProps) {
  const { decision, request } = approval
  const isOpen = !decision && !isFinal(call)
  // The line of the call says that it waits.
  if (isOpen && !session && !request.budget) return null
  if (!isOpen || !session) return <Decision approval={approval} isOpen={isOpen} />
  const Form = request.budget ? BudgetForm : request.wants === 'result' ? ResultForm : ApprovalRequest
  return <Form request={request} call={call} session={session} />
}

interface DecisionProps extends Pick<ApprovalProps, 'approval'> {
  /** Whether it can still be decided, but not here. */
  readonly isOpen?: boolean
}

/** What was decided, in a line. */
export function Decision({ approval, isOpen = false }: DecisionProps) {
  const { decision, request } = approval
  if (request.budget)
    return (
      <p class="chat-quiet">
        {limitText(request.budget)} {isOpen ? stateLabels.asking : budgetDecision(request.budget, approval)}
      </p>
    )
  return (
    <p class="chat-quiet">
      {decision ? decisionText(decision) : request.wants ? 'No result' : 'No decision'}
      {decision?.reason && ` · ${visible(decision.reason)}`}
    </p>
  )
}

export function decisionText({
  approved,
  input,
  remember,
  output,
}: NonNullable<ApprovalView['decision']>): string {
  if (!approved) return 'Denied'
  if (output) return 'Answered by a client'
  return `Allowed${input ? ' with changes' : ''}${remember ? ` ${rememberLabels[remember.for]}` : ''}`
}

import type { Fault } from './faults.ts'
import type { Scenario } from './scenario.ts'
import type { Wire } from './wire.ts'

/**
 * Applies faults to what the provider includes and how. Returns undefined if the fault has no
 * effect here.
 */
export function faultOnScenario(scenario: Scenario, fault: Fault, wire: Wire): Scenario | undefined {
  const { actions, usage: _, ...rest } = scenario
  switch (fault.kind) {
    case 'no-usage':
      return { ...rest, actions }
    case 'unclosed-call': {
      const calls = actions.filter((action) => action.type === 'open' && action.part.type === 'call')
      // The fault has already cut the script, so this tool call is its last part.
      const isLast = actions.at(-1)?.type === 'close'
      return calls[fault.call] && isLast ? { ...scenario, actions: actions.slice(0, -1) } : undefined
    }
    case 'custom-provider-calls': {
      const called = actions.some((action) => action.type === 'open' && action.part.type === 'provider-tool')
      return called && wire === 'openai-responses' ? { ...scenario, customProviderCalls: true } : undefined
    }
    default:
      return undefined
  }
}

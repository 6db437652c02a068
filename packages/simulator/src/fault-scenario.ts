import type { Fault } from './faults.ts'
import type { Scenario } from './scenario.ts'
import type { Wire } from './wire.ts'

/** What the provider leaves out, or writes in another form. Undefined if the fault is of another kind, or changes nothing here. */
export function faultOnScenario(scenario: Scenario, fault: Fault, wire: Wire): Scenario | undefined {
  const { acts, usage: _, ...rest } = scenario
  switch (fault.kind) {
    case 'no-usage':
      return { ...rest, acts }
    case 'unclosed-call': {
      const calls = acts.filter((act) => act.act === 'open' && act.part.type === 'call')
      // The fault has changed the script already: this call is its last part.
      const isLast = acts.at(-1)?.act === 'close'
      return calls[fault.call] && isLast ? { ...scenario, acts: acts.slice(0, -1) } : undefined
    }
    case 'custom-provider-calls': {
      const called = acts.some((act) => act.act === 'open' && act.part.type === 'provider-tool')
      return called && wire === 'openai-responses' ? { ...scenario, customProviderCalls: true } : undefined
    }
    default:
      return undefined
  }
}

import type { SyntaxNode } from 'unbash'

/**
 * Whether bash reads this in its own way, where another `sh` would see other commands: to dash `echo &>x rm` is
 * `echo &` and `rm >x`, and `[[ a && rm ]]` runs rm.
 */
export function isBashOnly(node: SyntaxNode): boolean {
  switch (node.type) {
    case 'TestCommand':
    case 'ArithmeticCommand':
    case 'ArithmeticFor':
    case 'Select':
    case 'Coproc':
    case 'Function':
    case 'ProcessSubstitution':
    case 'HereString':
    case 'AnsiCQuoted':
    case 'LocaleString':
    case 'ExtendedGlob':
    case 'ArrayValue':
    case 'FileDescriptorVariable':
    case 'Replace':
    case 'Slice':
    case 'CaseModification':
    case 'Transform':
    case 'Names':
      return true
    case 'Redirect':
      return node.operator.startsWith('&')
    case 'Pipeline':
      return node.operators.includes('|&')
    case 'CaseItem':
      return node.terminator === ';&' || node.terminator === ';;&'
    case 'Assignment':
      return Boolean(node.append || node.index)
    case 'ParameterExpansion':
      return node.prefix === '!' || node.index !== undefined
    case 'ArithmeticExpansion':
      return node.text.startsWith('$[')
    default:
      return false
  }
}

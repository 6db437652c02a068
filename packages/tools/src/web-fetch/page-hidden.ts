import type { Attributes } from './tag-reader.ts'

/** What a browser does not show as text, or that is not text to read: programs, forms, what stands in for a film. */
const unshown = new Set(
  'script style noscript template svg iframe object canvas audio video select datalist textarea annotation annotation-xml'.split(
    ' ',
  ),
)

/**
 * Whether people do not see it. Hidden text is how a page speaks to models behind people's backs; a style sheet can hide it too,
 * which cannot be seen from here.
 */
export function isHidden(name: string, attributes: Attributes): boolean {
  return (
    unshown.has(name) ||
    attributes.hidden !== undefined ||
    attributes['aria-hidden']?.trim().toLowerCase() === 'true' ||
    (name === 'dialog' && attributes.open === undefined) ||
    (attributes.style ?? '').split(';').some(hides)
  )
}

function hides(declaration: string): boolean {
  const [property = '', value = ''] = declaration.toLowerCase().split(':', 2)
  const word = value.replace('!important', '').trim()
  switch (property.trim()) {
    case 'display':
      return word === 'none'
    case 'visibility':
      return word === 'hidden' || word === 'collapse'
    case 'opacity':
    case 'font-size':
      return Number.parseFloat(word) === 0
    default:
      return false
  }
}

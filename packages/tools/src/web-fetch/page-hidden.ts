import type { Attributes } from './tag-reader.ts'

/**
 * Elements that browsers do not show as text, or that are not readable text: scripts, forms, media
 * fallbacks.
 */
const hiddenElements = new Set(
  'script style noscript template svg iframe object canvas audio video select datalist textarea annotation annotation-xml'.split(
    ' ',
  ),
)

/**
 * Whether people do not see the element. Hidden text is a way to inject prompts. Text hidden by a style
 * sheet is not detected.
 */
export function isHidden(name: string, attributes: Attributes): boolean {
  return (
    hiddenElements.has(name) ||
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

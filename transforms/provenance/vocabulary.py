"""Every IRI that the provenance uses, once.

Sources: PROV-O, Dublin Core elements 1.1, RDF Schema, and TrustGraph's own terms (spec, section 7). `ADDED_TERMS` are this decoder's.
"""

from collections.abc import Mapping

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"
DC = "http://purl.org/dc/elements/1.1/"
TG = "https://trustgraph.ai/ns/"

SOURCE_GRAPH = "urn:graph:source"
"""The named graph of all provenance of extraction: what TrustGraph's consumers walk."""

AGENT_IRI = "https://trustgraph.ai/agent/universal-decoder"
AGENT_LABEL = "universal-decoder"
ACTIVITY_LABEL = "universal-decoder extraction"

RDF_TYPE = RDF + "type"
RDF_LANG_STRING = RDF + "langString"
RDF_DIR_LANG_STRING = RDF + "dirLangString"
RDFS_LABEL = RDFS + "label"
XSD_STRING = XSD + "string"
XSD_INTEGER = XSD + "integer"
XSD_DATE_TIME = XSD + "dateTime"

PROV_ENTITY = PROV + "Entity"
PROV_ACTIVITY = PROV + "Activity"
PROV_AGENT = PROV + "Agent"
PROV_WAS_DERIVED_FROM = PROV + "wasDerivedFrom"
PROV_WAS_GENERATED_BY = PROV + "wasGeneratedBy"
PROV_USED = PROV + "used"
PROV_WAS_ASSOCIATED_WITH = PROV + "wasAssociatedWith"
PROV_STARTED_AT_TIME = PROV + "startedAtTime"

DC_TITLE = DC + "title"
DC_SOURCE = DC + "source"
DC_DATE = DC + "date"
DC_CREATOR = DC + "creator"

TG_DOCUMENT = TG + "Document"
TG_PAGE = TG + "Page"
TG_SECTION = TG + "Section"
TG_IMAGE = TG + "Image"
TG_MIME_TYPE = TG + "mimeType"
TG_PAGE_COUNT = TG + "pageCount"
TG_PAGE_NUMBER = TG + "pageNumber"
TG_CHAR_OFFSET = TG + "charOffset"
TG_CHAR_LENGTH = TG + "charLength"
TG_ELEMENT_TYPES = TG + "elementTypes"
TG_TABLE_COUNT = TG + "tableCount"
TG_IMAGE_COUNT = TG + "imageCount"
TG_COMPONENT_VERSION = TG + "componentVersion"
TG_ELEMENT_ID = TG + "elementId"
TG_IMAGE_WIDTH = TG + "imageWidth"
TG_IMAGE_HEIGHT = TG + "imageHeight"
TG_COORDINATES = TG + "coordinates"

ENTITY_TYPES: Mapping[str, str] = {"page": TG_PAGE, "section": TG_SECTION, "image": TG_IMAGE}
"""document_type -> rdf:type, besides prov:Entity."""

ADDED_TERMS: Mapping[str, str] = {
    TG_SECTION: "Class: a part of a document that is not a page, or of a page.",
    TG_IMAGE: "Class: an image found in a document; stored, not processed.",
    TG_ELEMENT_TYPES: "String: the categories of the elements of a page or section, in order of first appearance, joined by commas.",
    TG_TABLE_COUNT: "xsd:integer: tables in the text of a page or section.",
    TG_IMAGE_COUNT: "xsd:integer: images stored from a page or section; for a page that is divided, from its sections too.",
    # The spec wants these recorded (sections 5 and 10) and names no predicate.
    TG_ELEMENT_ID: "String: the id of the element that an image is, as in the images dataset.",
    TG_IMAGE_WIDTH: "xsd:integer: pixels of the stored image.",
    TG_IMAGE_HEIGHT: "xsd:integer: pixels of the stored image.",
    TG_COORDINATES: "String: x0,y0,x1,y1 of an image as fractions of its page, origin top left, six decimals.",
}
"""The terms that TrustGraph's published vocabulary lacks, with what they mean."""
